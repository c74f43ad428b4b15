import type { Device } from '../../../gpu/device/device.js'
import { PrefixTree } from '../../../gpu/index/prefix-tree.js'
import type { Subject } from '../../differential.js'

/** Prefix trees on a device, for differential programs. */
export function treeSubject(device: Device): Subject {
  return {
    create: (shape) => PrefixTree.create(device, shape),
    async reload(structure) {
      const { meta, parts } = await structure.image()
      const chunks = new Map(parts.map((part) => [part.name, part.chunks]))
      return PrefixTree.restore(device, structure.shape, meta, (name) => chunks.get(name)!)
    },
    async compact(structure, inBackground = false) {
      if (structure instanceof PrefixTree) await structure.compact({ inBackground })
    },
  }
}
