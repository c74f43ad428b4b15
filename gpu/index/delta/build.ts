import type { Device, Kernels } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Arena } from '../arena.js'
import type { BatchWork } from '../batch/work.js'
import type { TreeShape } from '../layout.js'
import { type ShareDigits, shareDigits } from './neighbours.js'

/** Builds the part of the tree under which entries hang. */
export interface Builder {
  /**
   * Counts the nodes that the entries of a batch need.
   * @param bound upper bound of the entries' number
   * @param arena the tree that the entries are for; undefined for one that is empty
   * @returns brings the count to its end, where that takes the host: once what was recorded is submitted, and before the counts are read. It
   * throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  plan(work: BatchWork, bound: number, arena: Arena | undefined): (() => Promise<void>) | undefined
  /** Writes the nodes, the first of which has the number `firstNode`, and hangs `count` entries under them. */
  record(work: BatchWork, arena: Arena, count: number, firstNode: number): void
}

/** What builds trees: the columns that counting nodes leaves, and the kernels that count and hang. */
const FIXED = {
  module: 'index/delta/build',
  columns: ['nodeRanks', 'entrySpans'],
  entryPoints: ['count_nodes', 'hang_entries'],
} as const
/** Over keys of variable length, with nodes only where they part. */
const BRANCHES = {
  module: 'index/delta/build-branches',
  columns: ['nodeRanks', 'lefts', 'parents'],
  entryPoints: ['find_branches', 'hang_entries'],
} as const
/** Over keys of variable length, with a node for every digit of every key. */
const CHAINS = {
  module: 'index/partitions/full/build-chains',
  columns: ['nodeRanks', 'owners'],
  entryPoints: ['count_chains', 'hang_chains'],
} as const

/** Builds trees of all layouts but `coalesced` ones. */
export class EntryBuilder implements Builder {
  readonly #columns: readonly string[]
  readonly #kernels: readonly [count: Kernel, hang: Kernel]
  /** Only over keys of variable length. */
  readonly #shareDigits: ShareDigits | undefined

  constructor(device: Device, { conditions, form, full }: TreeShape) {
    const variable = full ? CHAINS : BRANCHES
    const { module, columns, entryPoints } = form === undefined ? FIXED : variable
    const kernels: Kernels<string> = device.kernels(module, entryPoints, { ...conditions, full })
    this.#columns = columns
    this.#kernels = [kernels[entryPoints[0]]!, kernels[entryPoints[1]]!]
    this.#shareDigits = form && shareDigits(device, conditions)
  }

  plan(work: BatchWork, bound: number): undefined {
    this.#shareDigits?.(work, bound)
    for (const name of this.#columns) work.words(name, bound)
    work.dispatch(this.#kernels[0], bound, { count: bound })
    work.scan('nodeRanks', 'nodes', bound)
  }

  record(work: BatchWork, _arena: Arena, count: number, firstNode: number): void {
    work.dispatch(this.#kernels[1], count, { count, firstNode })
  }
}
