import type { Device } from '../../../../gpu/device/device.js'
import { ShardedTree } from '../../../../gpu/index/shards/sharded-tree.js'
import type { Subject } from '../../../differential.js'

/** Indexes that may be cut into shards, for differential programs. */
export function shardSubject(device: Device): Subject {
  return {
    create: (shape) => ShardedTree.create(device, shape),
    async reload(structure) {
      return ShardedTree.restore(device, structure.shape, await structure.image())
    },
    async compact(structure) {
      await structure.compactIfWorthwhile()
    },
  }
}
