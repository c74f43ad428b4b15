import type { Device } from '../device/device.js'
import { Region } from '../memory/region.js'
import { EXTENT_HEADER, HEAD_WORDS, SLOTS, type TreeShape } from './layout.js'

/** How many records of each role something takes. Extents and keys are counted in words, since they differ in size. */
export interface ArenaNeed {
  readonly nodes: number
  readonly tuples: number
  readonly extentWords: number
  /** Only where keys have a variable length. */
  readonly keyWords?: number
}

/** What an arena with keys of variable length has beside the rest. */
export interface KeyRegions {
  /** The keys of tuples. */
  readonly heap: Region
  /** A head for each node. */
  readonly heads: Region
}

/** The device memory of one prefix tree: a region for each role. It starts with the root node and nothing else. */
export class Arena {
  readonly nodes: Region
  readonly tuples: Region
  readonly extents: Region
  readonly keys: KeyRegions | undefined
  /** Where each key's first digits lead, in large trees; see `directory.ts`. */
  directory: GPUBuffer | undefined

  private constructor(nodes: Region, tuples: Region, extents: Region, keys: KeyRegions | undefined) {
    this.nodes = nodes
    this.tuples = tuples
    this.extents = extents
    this.keys = keys
    this.takeNodes(1)
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
      if (shape.form === undefined) return new Arena(nodes, tuples, extents, undefined)
      const heap = await create('keys', 1, need.keyWords ?? 0)
      const heads = await create('node heads', HEAD_WORDS, need.nodes + 1)
      return new Arena(nodes, tuples, extents, { heap, heads })
    } catch (error) {
      for (const region of regions) region.destroy()
      throw error
    }
  }

  /** The buffers in the order of bindings 0 to 2 of `tree.wesl`. */
  get buffers(): GPUBuffer[] {
    return [this.nodes.buffer, this.tuples.buffer, this.extents.buffer]
  }

  /** All regions, by the names that images have for them. */
  get regions(): ReadonlyMap<string, Region> {
    const { nodes, tuples, extents, keys } = this
    return new Map(Object.entries({ nodes, tuples, extents, ...keys }))
  }

  get bytes(): number {
    return sum(this.regions, ({ bytes }) => bytes) + (this.directory?.size ?? 0)
  }

  get usedBytes(): number {
    return sum(this.regions, ({ usedBytes }) => usedBytes)
  }

  /** @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, with nothing lost */
  async reserve(need: ArenaNeed): Promise<void> {
    await this.nodes.reserve(need.nodes)
    await this.tuples.reserve(need.tuples)
    await this.extents.reserve(need.extentWords)
    await this.keys?.heap.reserve(need.keyWords ?? 0)
    await this.keys?.heads.reserve(need.nodes)
  }

  /** Hands out nodes, with their heads where there are any; the first one's number. */
  takeNodes(count: number): number {
    this.keys?.heads.take(count)
    return this.nodes.take(count)
  }

  destroy(): void {
    for (const region of this.regions.values()) region.destroy()
    this.directory?.destroy()
  }
}

/** The buffers of the further bindings `keys`; none where keys have a fixed width. */
export function keyHeaps({ keys }: Arena, queryHeap: GPUBuffer | undefined): GPUBuffer[] {
  return keys === undefined || queryHeap === undefined ? [] : [keys.heap.buffer, queryHeap]
}

/** The buffers of the further bindings `tree`; none where keys have a fixed width. */
export function treeBuffers(arena: Arena, queryHeap: GPUBuffer | undefined): GPUBuffer[] {
  return [...keyHeaps(arena, queryHeap), ...headBuffers(arena)]
}

/** The buffer of the nodes' heads; none where keys have a fixed width. */
export function headBuffers({ keys }: Arena): GPUBuffer[] {
  return keys === undefined ? [] : [keys.heads.buffer]
}

function sum(regions: ReadonlyMap<string, Region>, of: (region: Region) => number): number {
  return [...regions.values()].reduce((total, region) => total + of(region), 0)
}
