import { WarpdexError } from '../../../protocol/errors.js'
import type { ResultTables, Strategy, Traversal } from '../../../protocol/traversal.js'
import type { Device, Kernels } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { KeyColumn } from '../../keys/key-column.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena, ArenaBindings } from '../arena.js'
import type { TreeShape } from '../layout.js'
import { ROW_WORDS, tablesOf } from './explain.js'
import { PartitionLister } from './partition-lists.js'
import { PartitionKeeper } from './partition-table.js'
import type { PartitionLists, PartitionTable } from './partitions.js'
import { BLOCK_BANDS, type BlockTraversal } from './traversal-costs.js'

/** How keys are to be found, with what that needs of an arena, as of its last write. Sequential traversal needs nothing, and has no plan. */
export interface TraversalPlan {
  readonly traversal: Traversal
  readonly table: PartitionTable
  /** Only for strategies that go through all partitions. */
  readonly lists: PartitionLists | undefined
}

/** Keys that are to be found. */
export interface AskedKeys {
  readonly count: number
  /** Whether they are in their ordered form, as opposed to the wire's. */
  readonly areOrdered?: boolean
}

/** Where keys leave the tree, on the device, each at the place that it has in its column. */
export interface Located {
  /** Slot and depth of each. */
  readonly places: DeviceMemory
  /** The key's tuple, or NONE. */
  readonly existing: DeviceMemory
}

/** Entry points by module. */
const KERNELS = {
  speculative: ['speculate'],
  hierarchical: ['traverse_blocks'],
  directed: ['locate_directed'],
  resolution: ['reverse_results', 'climb_results', 'settle_queries'],
  explain: ['list_results'],
  'explain-directed': ['list_directed'],
} as const

/** Bits of a shape that say how keys come off the wire; ordered ones need no mapping. */
const KEY_KIND = 15

/** Words of a table of intermediate results at most: batches for which it would be larger are cut. A few times what fills a device is enough. */
const TABLE_WORDS = { hardware: 2 ** 26, software: 2 ** 22 }

/** The one place in which keys are found by partitions, for all operations (Volk §3). */
export class Locator {
  readonly #device: Device
  readonly #shape: TreeShape
  readonly #keeper: PartitionKeeper
  readonly #lister: PartitionLister
  readonly #kernels: Kernels<(typeof KERNELS)[keyof typeof KERNELS][number]>

  constructor(device: Device, primitives: Primitives, shape: TreeShape) {
    this.#device = device
    this.#shape = shape
    this.#keeper = new PartitionKeeper(device, primitives, shape)
    this.#lister = new PartitionLister(device, primitives, shape)
    const conditions = { ...shape.conditions, full: shape.full }
    const kernels = Object.entries(KERNELS).map(([module, names]) =>
      device.kernels(`index/partitions/${module}`, names, conditions),
    )
    this.#kernels = Object.assign({}, ...kernels)
  }

  /** An arena's partitions as they are; see `PartitionKeeper.present`. */
  present(arena: Arena): PartitionTable | undefined {
    return this.#keeper.present(arena)
  }

  /** An arena's partitions as of its last write; see `PartitionKeeper.update`. */
  partitions(arena: Arena): Promise<PartitionTable> {
    return this.#keeper.update(arena)
  }

  /**
   * Plans a traversal, and makes what it needs. Nothing may be written to the arena until the traversal is submitted.
   * @param traversal any but `sequential`
   * @param present the table as it is, if that will do: the directory only guesses, so that it may lack what was written last
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, `TOO_LARGE` when there are too many partitions for the strategy
   */
  async plan(arena: Arena, traversal: BlockTraversal, present?: PartitionTable): Promise<TraversalPlan> {
    const table = present ?? (await this.partitions(arena))
    if (traversal.strategy === 'directed') return { traversal, table, lists: undefined }
    this.#queriesAtOnce(table)
    const { blockBands = BLOCK_BANDS } = traversal
    return { traversal, table, lists: await this.#lister.lists(arena, table, blockBands) }
  }

  /** Parameters of kernels that find keys by directed traversal. */
  directedParams({ traversal, table }: TraversalPlan): Readonly<Record<string, number>> {
    const { levels, bands } = table
    return { levels, bands, reversed: traversal.resolution === 'reversed' ? 1 : 0 }
  }

  /** Finds keys. */
  record(
    { recorder, scratch, arena }: Readonly<{ recorder: Recorder; scratch: Scratch; arena: Arena }>,
    plan: TraversalPlan,
    queries: KeyColumn,
    { count, areOrdered = false }: AskedKeys,
  ): Located {
    const { table, lists } = plan
    const located = { places: scratch.words(2 * count), existing: scratch.words(count) }
    const shape = areOrdered ? this.#shape.word & ~KEY_KIND : this.#shape.word
    const columns = { ...located, queries: queries.keys, queryHeap: queries.heap }
    const buffers = { ...arena.bindings, ...table.bindings, ...columns }
    if (lists === undefined) {
      const params = { ...this.directedParams(plan), count, shape }
      recorder.dispatchGroups(this.#kernels.locate_directed, buffers, params, count)
      return located
    }
    const most = Math.min(count, this.#queriesAtOnce(table))
    const all = { ...buffers, ...lists.bindings, ...resultBuffers(scratch, plan, most) }
    for (let first = 0; first < count; first += most) {
      const length = Math.min(most, count - first)
      this.#recordPiece(recorder, all, plan, lists, { first, length, shape })
    }
    return located
  }

  /** Fills the table of intermediate results for the queries of a piece, and makes places of them. */
  #recordPiece(
    recorder: Recorder,
    buffers: ArenaBindings,
    { traversal, table }: Pick<TraversalPlan, 'traversal' | 'table'>,
    { blockCount: blocks, sharing }: PartitionLists,
    piece: { readonly first: number; readonly length: number; readonly shape: number },
  ): void {
    const { length } = piece
    const { count: partitions, levels } = table
    const isReversed = traversal.resolution === 'reversed'
    const hasAnswers = isReversed ? 1 : 0
    const params = { ...piece, partitions, levels, blocks, sharing, hasAnswers }
    const dispatch = (kernel: Kernel, threads: number) => recorder.dispatch(kernel, buffers, params, threads)
    const clear = (name: string, words: number) => recorder.clear(buffers[name]!, 0, 4 * words)
    if (traversal.strategy === 'hierarchical') {
      // Results that no block hands on must not be taken for any.
      clear('results', length * partitions)
      recorder.dispatchGroups(
        this.#kernels.traverse_blocks,
        buffers,
        params,
        Math.ceil(length / sharing) * blocks,
      )
    } else {
      dispatch(this.#kernels.speculate, length * partitions)
    }
    if (isReversed) {
      clear('reversed', length * partitions)
      clear('payloadCounts', length)
      clear('answers', length)
      dispatch(this.#kernels.reverse_results, length * partitions)
      dispatch(this.#kernels.climb_results, length * partitions)
    }
    dispatch(this.#kernels.settle_queries, length)
  }

  /**
   * The tables of the first of some queries that people see (Volk, Tables 1 and 2), as the kernels of a strategy leave them. Where it has none,
   * or they would be too large, those of another.
   */
  async tables(arena: Arena, queries: KeyColumn, strategy: Strategy): Promise<ResultTables> {
    const { count: partitions } = await this.partitions(arena)
    const own = strategy === 'sequential' ? 'speculative' : strategy
    const shown = partitions > this.#mostResults ? 'directed' : own
    const plan = await this.plan(arena, { strategy: shown, resolution: 'reversed' })
    const { table } = plan
    const isDirected = plan.lists === undefined
    const lists = plan.lists ?? (await this.#lister.lists(arena, table, BLOCK_BANDS))
    return this.#device.withScratch(async (scratch) => {
      const count = 1 + (isDirected ? table.bands : partitions)
      const [rows, places, existing] = [scratch.words(ROW_WORDS * count), scratch.words(2), scratch.words(1)]
      const keys = { queries: queries.keys, queryHeap: queries.heap }
      const found = { places, existing, rows }
      const buffers = { ...arena.bindings, ...table.bindings, ...lists.bindings, ...keys, ...found }
      const recorder = this.#device.record()
      const shape = this.#shape.word
      if (isDirected) {
        const params = { ...this.directedParams(plan), count: 1, shape }
        recorder.dispatchGroups(this.#kernels.list_directed, buffers, params, 1)
      } else {
        const all = { ...buffers, ...resultBuffers(scratch, plan, 1) }
        this.#recordPiece(recorder, all, plan, lists, { first: 0, length: 1, shape })
        const params = { length: 1, partitions, levels: table.levels, shape }
        recorder.dispatch(this.#kernels.list_results, all, { first: 0, ...params }, partitions)
      }
      recorder.submit()
      return tablesOf(await this.#device.readWords(rows, ROW_WORDS * count))
    })
  }

  /**
   * The number of queries whose results fit a table.
   * @throws WarpdexError `TOO_LARGE` when a single one's do not
   */
  #queriesAtOnce({ count }: PartitionTable): number {
    const most = Math.floor(this.#mostResults / count)
    if (most > 0) return most
    throw new WarpdexError(
      'TOO_LARGE',
      `the index has ${count} partitions, and a table of their results has room for ${this.#mostResults}; use strategy directed or sequential`,
    )
  }

  /** Results that a table has room for. */
  get #mostResults(): number {
    const { software, bindingBytes } = this.#device.facts
    return Math.min(TABLE_WORDS[software ? 'software' : 'hardware'], bindingBytes / 4)
  }
}

/** The tables of results for so many queries, by the names that kernels have for them. */
function resultBuffers(scratch: Scratch, { traversal, table }: TraversalPlan, queries: number) {
  const results = scratch.words(queries * table.count)
  const common = { results, foundResults: results }
  // Without reversed results nothing looks at the answers, so that anything may be bound there.
  if (traversal.resolution !== 'reversed') return { ...common, answersIn: results }
  const answers = scratch.words(queries)
  const reversed = scratch.words(queries * table.count)
  return { ...common, reversed, payloadCounts: scratch.words(queries), answers, answersIn: answers }
}
