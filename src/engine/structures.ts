import type { Device } from '../../gpu/device/device.js'
import type { IndexShape, IndexStructure, StructureImage } from '../../gpu/index-structure.js'

/** Reads one part of a stored image. */
export type PartReader = (name: string) => AsyncIterable<Uint8Array>

/** Makes the structures that indexes are held in. */
export interface StructureFactory {
  create(device: Device, shape: IndexShape): Promise<IndexStructure>
  /** Brings back what `image` wrote. */
  restore(
    device: Device,
    shape: IndexShape,
    meta: StructureImage['meta'],
    readPart: PartReader,
  ): Promise<IndexStructure>
}
