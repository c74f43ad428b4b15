import type { Region } from '../../memory/region.js'

/** The partitions of an arena (Volk §3.1): their roots, how to get from a node to its partition, and from a key's digits to one. */
export class PartitionTable {
  /** Levels of a partition, the paper's m. */
  readonly levels: number
  /** Nodes that there were when the levels were settled. */
  readonly settledAt: number
  /** Root node of each partition; the first one's is the tree's root. */
  readonly roots: Region
  /** Partition of each root node, counted from 1; 0 for other nodes. */
  readonly numbers: Region
  /** See `partition-directory.wesl`. */
  directory: GPUBuffer
  /** Nodes that have been looked at. */
  nodesSeen = 0
  /** Depth of the deepest of them. */
  depth = 0
  /** In the orders that some strategies need, once they are asked for. */
  lists: PartitionLists | undefined

  constructor(levels: number, settledAt: number, roots: Region, numbers: Region, directory: GPUBuffer) {
    this.levels = levels
    this.settledAt = settledAt
    this.roots = roots
    this.numbers = numbers
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

  /** Places in the table. Some may be empty. */
  get count(): number {
    return this.roots.records
  }

  get bytes(): number {
    return this.roots.bytes + this.numbers.bytes + this.directory.size + (this.lists?.bytes ?? 0)
  }

  destroy(): void {
    this.roots.destroy()
    this.numbers.destroy()
    this.directory.destroy()
    this.lists?.destroy()
  }
}

/** The partitions of a table that are in use, in the orders in which strategies go through them. */
export class PartitionLists {
  /** Partitions in use. */
  readonly live: number
  /** Partitions, those of one level together. */
  readonly byLevel: GPUBuffer
  /** Partitions, those of one block together. */
  readonly byBlock: GPUBuffer
  /** Where each partition stands in `byBlock`. */
  readonly positions: GPUBuffer
  /** The partition above each, or NONE. */
  readonly predecessors: GPUBuffer
  /** Begin and end of each block in `byBlock`. */
  readonly blocks: GPUBuffer
  readonly blockCount: number
  /** A plain number, since the size of a buffer is asked of Dawn. */
  readonly bytes: number

  constructor(lists: Omit<PartitionLists, 'bytes' | 'destroy'>) {
    this.live = lists.live
    this.byLevel = lists.byLevel
    this.byBlock = lists.byBlock
    this.positions = lists.positions
    this.predecessors = lists.predecessors
    this.blocks = lists.blocks
    this.blockCount = lists.blockCount
    this.bytes = this.#buffers.reduce((total, { size }) => total + size, 0)
  }

  get #buffers(): GPUBuffer[] {
    return [this.byLevel, this.byBlock, this.positions, this.predecessors, this.blocks]
  }

  destroy(): void {
    for (const buffer of this.#buffers) buffer.destroy()
  }
}
