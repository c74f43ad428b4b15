import type { Device } from '../../../../gpu/device/device.js'
import { ShardedTree } from '../../../../gpu/index/shards/sharded-tree.js'
import type { StructureImage } from '../../../../gpu/index-structure.js'
import { partsOf } from '../../../../src/engine/paged-structure.js'
import type { Subject } from '../../../differential.js'

/** Indexes that may be cut into shards, for differential programs. */
export function shardSubject(device: Device): Subject {
  return {
    create: (shape) => ShardedTree.create(device, shape),
    async reload(structure) {
      return restoreOn(device, structure.shape, await structure.image())
    },
    async compact(structure) {
      await structure.compactIfWorthwhile()
    },
  }
}

/** What an image holds, on a device. */
export async function restoreOn(
  device: Device,
  shape: ShardedTree['shape'],
  image: StructureImage,
): Promise<ShardedTree> {
  return ShardedTree.restore(device, shape, image.meta, partsOf(image))
}
