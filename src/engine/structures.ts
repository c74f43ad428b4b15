import type { Device } from '../../gpu/device/device.js'
import type { IndexShape, IndexStructure, StructureImage } from '../../gpu/index-structure.js'
import { PrefixTree } from '../../gpu/prefix-tree/prefix-tree.js'
import { WarpdexError } from '../../protocol/errors.js'
import { isFixedKeyType } from '../../protocol/types.js'

/** Reads one part of a stored image. */
export type PartReader = (name: string) => AsyncIterable<Uint8Array>

/** Makes the structures that indexes are held in. */
export interface StructureFactory {
  create(device: Device, shape: IndexShape): Promise<IndexStructure>
  /** Brings back what `image` gave. */
  restore(
    device: Device,
    shape: IndexShape,
    meta: StructureImage['meta'],
    readPart: PartReader,
  ): Promise<IndexStructure>
}

/** The structure of every index today; a read-optimised one would be chosen here. */
export const prefixTrees: StructureFactory = {
  create: async (device, shape) => {
    if (isFixedKeyType(shape.keyType)) return PrefixTree.create(device, shape)
    const message = `keys of type ${shape.keyType} cannot be held on the device yet; use a type of fixed width`
    throw new WarpdexError('BAD_REQUEST', message)
  },
  restore: (device, shape, meta, readPart) => PrefixTree.restore(device, shape, meta, readPart),
}
