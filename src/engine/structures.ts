import type { Device } from '../../gpu/device/device.js'
import { calibrate } from '../../gpu/index/partitions/calibration.js'
import { ShardedTree } from '../../gpu/index/shards/sharded-tree.js'
import type { IndexShape, IndexStructure, StructureImage } from '../../gpu/index-structure.js'

/** Makes the structures that indexes are held in. */
export interface StructureFactory {
  create(device: Device, shape: IndexShape): Promise<IndexStructure>
  /** Brings back what `image` gave. */
  restore(device: Device, shape: IndexShape, image: StructureImage): Promise<IndexStructure>
  /**
   * Measures what a device takes for that on which structures base their choices, by names that only they know; takes seconds.
   * @param stop gives it up, with its reason
   */
  calibrate?(device: Device, stop?: AbortSignal): Promise<Readonly<Record<string, number>>>
}

/** Prefix trees and CSS-trees, cut into shards where they outgrow what the device can bind. */
export const prefixTrees: StructureFactory = {
  create: (device, shape) => ShardedTree.create(device, shape),
  restore: (device, shape, image) => ShardedTree.restore(device, shape, image),
  calibrate: (device, stop) => calibrate(device, undefined, stop),
}
