import type { Device } from '../device/device.js'
import type { Region } from '../memory/region.js'
import type { Arena, ArenaContent } from './arena.js'
import type { TreeShape } from './layout.js'

/**
 * A copy of an arena's content as it was at one moment, for a compaction beside which the arena is written to. It has what a
 * compaction reads, and no room to grow.
 */
export class FrozenArena implements ArenaContent {
  readonly allowance: ArenaContent['allowance']
  readonly bindings: ArenaContent['bindings']
  readonly tuples: ArenaContent['tuples']
  readonly heap: ArenaContent['heap']
  readonly sorted: ArenaContent['sorted']
  readonly #copies: readonly GPUBuffer[]

  private constructor(
    arena: Arena,
    copyOf: ReadonlyMap<Region, GPUBuffer>,
    separators: GPUBuffer | undefined,
  ) {
    const { nodes, tuples, extents, heap, sorted } = arena
    this.allowance = arena.allowance
    const copied = (region: Region | undefined) => region && copyOf.get(region)
    this.bindings = {
      nodes: copied(nodes),
      tuples: copied(tuples),
      extents: copied(extents),
      heap: copied(heap),
      directory: separators ?? sorted?.directory,
      removed: copied(sorted?.removed),
    }
    this.tuples = { buffer: copyOf.get(tuples)!, records: tuples.records }
    this.heap = heap && { buffer: copyOf.get(heap)! }
    this.sorted = sorted && { tuples: sorted.tuples, hasRemoved: sorted.hasRemoved }
    this.#copies = [...copyOf.values(), ...(separators === undefined ? [] : [separators])]
  }

  /**
   * Copies an arena to which nothing is written before this resolves.
   * @param outlives whether the copy may be read once the arena is destroyed, or its sorted part another one. Else it has the arena's own
   *   separators, which never change
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  static async of(device: Device, shape: TreeShape, arena: Arena, outlives = false): Promise<FrozenArena> {
    const copyOf = new Map<Region, GPUBuffer>()
    const directory = outlives ? arena.sorted?.directory : undefined
    let separators: GPUBuffer | undefined
    try {
      const recorder = device.record()
      for (const region of regionsRead(shape, arena)) {
        const { buffer, usedBytes, label } = region
        const copy = await device.allocate(Math.max(usedBytes, 4), `frozen ${label}`)
        copyOf.set(region, copy)
        recorder.copy(buffer, 0, copy, 0, usedBytes)
      }
      if (directory !== undefined) {
        separators = await device.allocate(directory.size, 'frozen separators')
        recorder.copy(directory, 0, separators, 0, directory.size)
      }
      recorder.submit()
      return new FrozenArena(arena, copyOf, separators)
    } catch (error) {
      separators?.destroy()
      for (const copy of copyOf.values()) copy.destroy()
      throw error
    }
  }

  /** Bytes of device memory that a copy of an arena takes. */
  static bytesFor(shape: TreeShape, arena: Arena): number {
    return regionsRead(shape, arena).reduce((bytes, { usedBytes }) => bytes + usedBytes, 0)
  }

  get bytes(): number {
    return this.#copies.reduce((bytes, { size }) => bytes + size, 0)
  }

  destroy(): void {
    for (const copy of this.#copies) copy.destroy()
  }
}

/** The regions that a compaction reads. Nodes only give the order of keys of fixed width; others are sorted. */
function regionsRead({ form }: TreeShape, { nodes, tuples, extents, heap, sorted }: Arena): Region[] {
  const regions = [form === undefined ? nodes : undefined, tuples, extents, heap, sorted?.removed]
  return regions.filter((region) => region !== undefined)
}
