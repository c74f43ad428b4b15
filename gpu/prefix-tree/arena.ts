import type { Device } from '../device/device.js'
import { Region } from '../memory/region.js'
import { EXTENT_HEADER, SLOTS, type TreeShape } from './layout.js'

/** How many records of each role something takes. Extents are counted in words, since they differ in size. */
export interface ArenaNeed {
  readonly nodes: number
  readonly tuples: number
  readonly extentWords: number
}

/** The device memory of one prefix tree: a region for each role. It starts with the root node and nothing else. */
export class Arena {
  readonly nodes: Region
  readonly tuples: Region
  readonly extents: Region
  /** Where each key's first digits lead, in large trees; see `directory.ts`. */
  directory: GPUBuffer | undefined

  private constructor(nodes: Region, tuples: Region, extents: Region) {
    this.nodes = nodes
    this.tuples = tuples
    this.extents = extents
    nodes.take(1)
    // A link of 0 means that there is no extent, so none may start there.
    extents.take(EXTENT_HEADER)
  }

  /** @throws WarpdexError `OUT_OF_DEVICE_MEMORY` */
  static async create(device: Device, shape: TreeShape, need: ArenaNeed): Promise<Arena> {
    const regions: Region[] = []
    const create = async (label: string, wordsPerRecord: number, records: number): Promise<Region> => {
      const region = await Region.create(device, label, wordsPerRecord, records)
      regions.push(region)
      return region
    }
    try {
      const nodes = await create('tree nodes', SLOTS, need.nodes + 1)
      const tuples = await create('tuples', shape.tupleStride, need.tuples)
      const extents = await create('payload extents', 1, need.extentWords + EXTENT_HEADER)
      return new Arena(nodes, tuples, extents)
    } catch (error) {
      for (const region of regions) region.destroy()
      throw error
    }
  }

  /** The buffers in the order of bindings 0 to 2 of `tree.wesl`. */
  get buffers(): GPUBuffer[] {
    return [this.nodes.buffer, this.tuples.buffer, this.extents.buffer]
  }

  get bytes(): number {
    return this.nodes.bytes + this.tuples.bytes + this.extents.bytes + (this.directory?.size ?? 0)
  }

  get usedBytes(): number {
    return this.nodes.usedBytes + this.tuples.usedBytes + this.extents.usedBytes
  }

  /** @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, with nothing lost */
  async reserve(need: ArenaNeed): Promise<void> {
    await this.nodes.reserve(need.nodes)
    await this.tuples.reserve(need.tuples)
    await this.extents.reserve(need.extentWords)
  }

  destroy(): void {
    this.nodes.destroy()
    this.tuples.destroy()
    this.extents.destroy()
    this.directory?.destroy()
  }
}
