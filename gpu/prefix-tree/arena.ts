import { WarpdexError } from '../../protocol/errors.js'
import type { Device } from '../device/device.js'
import { Region, regionBytes } from '../memory/region.js'
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
  readonly #device: Device

  private constructor(device: Device, nodes: Region, tuples: Region, extents: Region) {
    this.#device = device
    this.nodes = nodes
    this.tuples = tuples
    this.extents = extents
    nodes.take(1)
    // A link of 0 means that there is no extent, so none may start there.
    extents.take(EXTENT_HEADER)
  }

  /** @throws WarpdexError `OUT_OF_DEVICE_MEMORY` */
  static async create(device: Device, shape: TreeShape, need: ArenaNeed): Promise<Arena> {
    const roles = {
      nodes: ['tree nodes', SLOTS, need.nodes + 1],
      tuples: ['tuples', shape.tupleStride, need.tuples],
      extents: ['payload extents', 1, need.extentWords + EXTENT_HEADER],
    } as const
    const sizes = Object.values(roles).map(([, words, records]) => regionBytes(device, words, records))
    refusePast(device.structureBytes, sum(sizes))
    const regions: Region[] = []
    const create = async ([label, words, records]: readonly [string, number, number]): Promise<Region> => {
      const region = await Region.create(device, label, words, records)
      regions.push(region)
      return region
    }
    try {
      const nodes = await create(roles.nodes)
      const tuples = await create(roles.tuples)
      const extents = await create(roles.extents)
      return new Arena(device, nodes, tuples, extents)
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

  /**
   * Makes room. Where that would be more than a structure may own, regions give back the room that they have beyond it.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, with nothing lost
   */
  async reserve(need: ArenaNeed): Promise<void> {
    const needs = [
      [this.nodes, need.nodes],
      [this.tuples, need.tuples],
      [this.extents, need.extentWords],
    ] as const
    const others = this.directory?.size ?? 0
    const reserved = others + sum(needs.map(([region, records]) => region.reservedBytes(records)))
    const fits = reserved <= this.#device.structureBytes
    if (!fits) {
      const least = others + sum(needs.map(([region, records]) => region.leastBytes(records)))
      refusePast(this.#device.structureBytes, least)
    }
    for (const [region, records] of needs) {
      if (fits) await region.reserve(records)
      else await region.fit(records)
    }
  }

  destroy(): void {
    this.nodes.destroy()
    this.tuples.destroy()
    this.extents.destroy()
    this.directory?.destroy()
  }
}

function sum(sizes: readonly number[]): number {
  return sizes.reduce((total, size) => total + size, 0)
}

function refusePast(most: number, bytes: number): void {
  if (bytes <= most) return
  throw new WarpdexError(
    'OUT_OF_DEVICE_MEMORY',
    `the index would need ${bytes} bytes of device memory; one index may have at most ${most}`,
  )
}
