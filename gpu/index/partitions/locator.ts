import type { ResultTables, Traversal } from '../../../protocol/traversal.js'
import type { Device } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import { Directed } from './directed.js'
import { TableExplainer } from './explain.js'
import { Hierarchical } from './hierarchical.js'
import type { Located } from './located.js'
import { PartitionLister } from './partition-lists.js'
import { PartitionKeeper } from './partition-table.js'
import type { PartitionLists, PartitionTable } from './partitions.js'
import { Resolution } from './resolution.js'
import { type KeyColumn, queriesAtOnce } from './result-table.js'
import { Speculative } from './speculative.js'

/** What a traversal needs of an arena, as of its last write. */
export interface Ready {
  readonly traversal: Traversal
  readonly table: PartitionTable
  /** Only for strategies that go through all partitions. */
  readonly lists: PartitionLists | undefined
}

interface Parts {
  readonly keeper: PartitionKeeper
  readonly lister: PartitionLister
  readonly speculative: Speculative
  readonly hierarchical: Hierarchical
  readonly directed: Directed
  readonly resolution: Resolution
  readonly explainer: TableExplainer
}

/** Bits of a shape that say how keys come off the wire; ordered ones need no mapping. */
const KEY_KIND = 15

/** The one place in which keys are found by partitions, for all operations (Volk §3). */
export class Locator {
  readonly #device: Device
  readonly #shape: TreeShape
  readonly #parts: Parts

  constructor(device: Device, primitives: Primitives, shape: TreeShape) {
    const speculative = new Speculative(device, shape)
    this.#device = device
    this.#shape = shape
    this.#parts = {
      keeper: new PartitionKeeper(device, primitives, shape),
      lister: new PartitionLister(device, primitives, shape),
      speculative,
      hierarchical: new Hierarchical(device, shape),
      directed: new Directed(device, shape),
      resolution: new Resolution(device, shape),
      explainer: new TableExplainer(device, shape, speculative),
    }
  }

  /** An arena's partitions as of its last write; see `PartitionKeeper.update`. */
  partitions(arena: Arena): Promise<PartitionTable> {
    return this.#parts.keeper.update(arena)
  }

  /**
   * Makes ready what a traversal needs. Nothing may be written to the arena until the traversal is submitted.
   * @param traversal any but `sequential`
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, `TOO_LARGE` when there are too many partitions for the strategy
   */
  async ready(arena: Arena, traversal: Traversal): Promise<Ready> {
    const table = await this.partitions(arena)
    if (traversal.strategy === 'directed') return { traversal, table, lists: undefined }
    queriesAtOnce(this.#device, table.count)
    return { traversal, table, lists: await this.#parts.lister.lists(arena, table) }
  }

  /**
   * The result tables of the first of some queries.
   * @param isThere whether the index has its key
   */
  async tables(arena: Arena, queries: KeyColumn, isThere: boolean): Promise<ResultTables> {
    const table = await this.partitions(arena)
    const lists = await this.#parts.lister.lists(arena, table)
    return this.#parts.explainer.tables(arena, table, lists, queries, isThere)
  }

  /**
   * Finds `count` keys.
   * @param isOrdered whether the keys are in their ordered form, as opposed to the wire's
   */
  record(
    recorder: Recorder,
    scratch: Scratch,
    arena: Arena,
    { traversal, table, lists }: Ready,
    queries: KeyColumn,
    count: number,
    isOrdered: boolean,
  ): Located {
    const located = { places: scratch.words(2 * count), residents: scratch.words(count) }
    const { strategy, resolution = 'serial' } = traversal
    const { speculative, hierarchical, directed, resolution: resolver } = this.#parts
    const word = isOrdered ? this.#shape.word & ~KEY_KIND : this.#shape.word
    if (lists === undefined) {
      directed.record(recorder, arena, table, queries, word, count, resolution, located)
      return located
    }
    const most = Math.min(count, queriesAtOnce(this.#device, table.count))
    const results = scratch.words(most * table.count)
    const reversed = resolver.provide(scratch, resolution, table.count, most)
    for (let first = 0; first < count; first += most) {
      const piece = { queries, word, first, length: Math.min(most, count - first), results }
      if (strategy === 'hierarchical') hierarchical.record(recorder, arena, table, lists, piece)
      else speculative.record(recorder, arena, table, lists, piece)
      resolver.record(recorder, arena, table, lists, piece, reversed, located)
    }
    return located
  }
}
