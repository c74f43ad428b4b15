import type { Device } from '../../../gpu/device/device.js'
import { PrefixTree } from '../../../gpu/index/prefix-tree.js'
import type { Subject } from '../../differential.js'

/** Prefix trees on a device, for differential programs. */
export function treeSubject(device: Device): Subject {
  return {
    create: (shape) => PrefixTree.create(device, shape),
    async reload(structure) {
      return PrefixTree.restore(device, structure.shape, await structure.image())
    },
    async compact(structure, inBackground = false) {
      if (structure instanceof PrefixTree) await structure.compact({ inBackground })
    },
  }
}
