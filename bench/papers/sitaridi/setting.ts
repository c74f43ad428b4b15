import type { Device } from '../../../gpu/device/device.js'
import type { Primitives } from '../../../gpu/primitives/primitives.js'

/** What a run of the suite measures on, and how much. */
export interface SelectBench {
  readonly device: Device
  readonly primitives: Primitives
  /** Of the table of all figures but the third: 128 million in the paper. */
  readonly rows: number
  /** Of the table of Figure 3: 12.8 million in the paper. */
  readonly smallRows: number
  readonly quick: boolean
}
