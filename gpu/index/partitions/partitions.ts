import type { DeviceMemory, PageRun } from '../../memory/page-run.js'
import type { Region } from '../../memory/region.js'

/** The partitions of an arena (Volk §3.1): their roots, how to get from a node to its partition, and from a key's digits to one. */
export class PartitionTable {
  /** Levels of a partition, the paper's m. */
  readonly levels: number
  /** Nodes that there were when the levels were settled. */
  readonly settledAt: number
  /** Root node of each partition, ascending; the first one's is the tree's root. */
  readonly roots: Region
  /** See `partition-directory.wesl`. */
  directory: PageRun
  /** Nodes that have been looked at. */
  nodesSeen = 0
  /** Depth of the deepest of them. */
  depth = 0
  readonly #lists = new Map<number, PartitionLists>()

  constructor(levels: number, settledAt: number, roots: Region, directory: PageRun) {
    this.levels = levels
    this.settledAt = settledAt
    this.roots = roots
    this.directory = directory
  }

  /** Bands of as many levels as a partition has, down to the deepest node. */
  get bands(): number {
    return Math.floor(this.depth / this.levels) + 1
  }

  /** Bands that a key of so many digits reaches. */
  bandsOf(digits: number): number {
    return Math.min(this.bands, Math.ceil(digits / this.levels))
  }

  /** Places in the table. Some may be empty: in `coalesced` trees each group of 16 lanes has 16, whether or not they are in use. */
  get count(): number {
    return this.roots.records
  }

  /** In the orders that some strategies need, by the bands of a block, once they are asked for. */
  get lists(): ReadonlyMap<number, PartitionLists> {
    return this.#lists
  }

  /** Keeps lists, unless others that say the same were made meanwhile; what is kept. */
  keepLists(lists: PartitionLists): PartitionLists {
    const kept = this.#lists.get(lists.blockBands)
    if (kept !== undefined) destroyLists(lists)
    else this.#lists.set(lists.blockBands, lists)
    return kept ?? lists
  }

  dropLists(): void {
    for (const lists of this.#lists.values()) destroyLists(lists)
    this.#lists.clear()
  }

  /** Its buffers by the names that kernels have for them. */
  get bindings(): Readonly<Record<'roots' | 'partitionDirectory', DeviceMemory>> {
    return {
      roots: this.roots.buffer,
      partitionDirectory: this.directory,
    }
  }

  /** All pages that it has. */
  get runs(): readonly PageRun[] {
    const lists = [...this.#lists.values()].flatMap(({ bindings }) => Object.values(bindings))
    return [this.roots.buffer, this.directory, ...lists]
  }

  get bytes(): number {
    let bytes = this.roots.bytes + this.directory.size
    for (const lists of this.#lists.values()) bytes += lists.bytes
    return bytes
  }

  destroy(): void {
    this.roots.destroy()
    this.directory.destroy()
    this.dropLists()
  }
}

/** The partitions of a table, in the orders in which strategies go through them. */
export interface PartitionLists {
  /** Bands of a block, the paper's |B| / m. */
  readonly blockBands: number
  /** Groups of blocks, each for a workgroup. */
  readonly blockCount: number
  /** Queries that share a workgroup. */
  readonly sharing: number
  /** As `partition-lists.wesl` draws them, by the names that kernels have for them. */
  readonly bindings: Readonly<
    Record<'byLevel' | 'byBlock' | 'numbers' | 'positions' | 'predecessors' | 'blocks', PageRun>
  >
  /** A plain number, since the size of a buffer is asked of Dawn. */
  readonly bytes: number
}

function destroyLists({ bindings }: PartitionLists): void {
  for (const buffer of Object.values(bindings)) buffer.destroy()
}
