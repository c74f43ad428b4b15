import type { DeviceMemory } from '../memory/page-run.js'
/** Keys on the device, as they came off the wire unless said otherwise. */
export interface KeyColumn {
  /** Keys, or records of keys of variable length. */
  readonly keys: DeviceMemory
  /** Where those records lead. */
  readonly heap: DeviceMemory | undefined
}
