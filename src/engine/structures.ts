import type { Device } from '../../gpu/device/device.js'
import type { IndexShape, IndexStructure, StructureImage } from '../../gpu/index-structure.js'
import { calibrate } from '../../gpu/prefix-tree/locate/calibration.js'
import { PrefixTree } from '../../gpu/prefix-tree/prefix-tree.js'

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
  /** Measures what a device takes for that on which structures base their choices, by names that only they know; takes seconds. */
  calibrate?(device: Device): Promise<Readonly<Record<string, number>>>
}

/** Prefix trees and CSS-trees, which have one for their delta. */
export const prefixTrees: StructureFactory = {
  create: (device, shape) => PrefixTree.create(device, shape),
  restore: (device, shape, meta, readPart) => PrefixTree.restore(device, shape, meta, readPart),
  calibrate,
}
