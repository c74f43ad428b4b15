import type { DeviceMemory } from '../../memory/page-run.js'

/** NONE of `layout.wesl`. */
const NO_SHARD = 0xffff_ffff

/** The keys of a batch that a shard answers. */
export interface OwnKeys {
  /** Number of each key's shard, on the device. */
  readonly keyShards: DeviceMemory
  readonly shard: number
}

/**
 * What kernels that import `own-keys.wesl` have of it.
 * @param other memory that stands in for the shards' numbers where all keys are answered
 */
export function ownKeys(own: OwnKeys | undefined, other: DeviceMemory) {
  return { keyShards: own?.keyShards ?? other, shard: own?.shard ?? NO_SHARD }
}
