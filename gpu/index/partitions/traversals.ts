import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import type { Explanation, Traversal, TraversalCost } from '../../../protocol/traversal.js'
import type { Device } from '../../device/device.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import type { Locator, TraversalPlan } from './locator.js'
import type { PartitionTable } from './partitions.js'
import { type Batch, estimate, situationOf } from './traversal-costs.js'

/**
 * Checks what a request names.
 * @throws WarpdexError `BAD_REQUEST` when it needs partitions and the trees have none
 */
export function checkTraversal({ partitionLevels }: TreeShape, { strategy }: Traversal): void {
  if (partitionLevels !== undefined || strategy === 'sequential') return
  throw new WarpdexError(
    'BAD_REQUEST',
    `the index has no partitions to traverse by strategy ${strategy}; use sequential, or create the index with structure prefix`,
  )
}

/** A tree that has grown by this factor has its partitions brought up to date: few guesses of the directory are wrong until then. */
const GROWTH_BEFORE_UPDATE = 9 / 8

/** The ways in which trees with partitions find keys, and the choice between them by what they cost on the device. */
export class Traversals {
  readonly #device: Device
  readonly #shape: TreeShape
  readonly #locator: Locator

  constructor(device: Device, shape: TreeShape, locator: Locator) {
    this.#device = device
    this.#shape = shape
    this.#locator = locator
  }

  /**
   * Plans the traversal that the request names or, if it names none, the one that is expected to be the fastest.
   * @param keys number of the tree's keys
   * @returns undefined for sequential traversal: at once where there is nothing to choose, so that keys are looked for when this is called
   * @throws WarpdexError as `Locator.plan`, for what the request names; of its own choice a tree falls back to sequential traversal
   */
  plan(
    arena: Arena,
    keys: number,
    batch: () => Batch,
    named: Traversal | undefined,
  ): Promise<TraversalPlan | undefined> | undefined {
    const locator = this.#locator
    if (named?.strategy === 'sequential') return undefined
    if (named !== undefined) return locator.plan(arena, named)
    if (this.#device.traversalCosts === undefined) return undefined
    const table = locator.present(arena)
    if (table === undefined) return undefined
    const isCurrent = table.nodesSeen === arena.nodes.records
    const cheapest = this.#estimates(arena, table, keys, batch()).find(
      ({ strategy }) => isCurrent || strategy === 'sequential' || strategy === 'directed',
    )
    if (cheapest === undefined || cheapest.strategy === 'sequential') return undefined
    const { microseconds, ...traversal } = cheapest
    return this.#orSequential(() => locator.plan(arena, traversal, table))
  }

  /**
   * Brings a tree's partitions up to date when it has grown by much, so that there is a choice between strategies without a wait. Where there is
   * no room for them reads do without.
   */
  async maintain(arena: Arena): Promise<void> {
    if (this.#device.traversalCosts === undefined) return
    const { partitions, nodes } = arena
    if (partitions !== undefined && nodes.records < GROWTH_BEFORE_UPDATE * partitions.nodesSeen) return
    await this.#orSequential(async () => this.#locator.partitions(arena))
  }

  async #orSequential<T>(task: () => Promise<T>): Promise<T | undefined> {
    try {
      return await task()
    } catch (error) {
      if (toWarpdexError(error).code !== 'OUT_OF_DEVICE_MEMORY') throw error
      return undefined
    }
  }

  /** Says how a batch would be found, and why; without the tables. */
  async explain(
    arena: Arena,
    keys: number,
    batch: Batch,
    named: Traversal | undefined,
  ): Promise<Explanation> {
    const { count, digits } = batch
    const table = await this.#locator.partitions(arena)
    const costs = this.#estimates(arena, table, keys, batch)
    const partitions = { count: table.count, levels: table.levels }
    const why = (traversal: Traversal, reason: string): Explanation => {
      return { ...traversal, batch: count, digits, partitions, reason, costs, tables: null }
    }
    if (named !== undefined) return why(named, 'the request names it')
    const [cheapest] = costs
    if (cheapest === undefined) {
      return why(
        { strategy: 'sequential' },
        'what the other strategies cost on this adapter has not been measured',
      )
    }
    const { microseconds, ...traversal } = cheapest
    const asked = `${count === 1 ? 'a key' : `${count} keys`} of up to ${digits} digits`
    const tree = `${table.count} partitions of ${table.levels} levels`
    const expected = `${microseconds.toPrecision(3)} µs that way, the least of ${costs.length}`
    return why(traversal, `${asked} over ${tree} are expected to take ${expected}`)
  }

  /** What each traversal is expected to take, the fastest first; none where the device's costs are not known. */
  #estimates(arena: Arena, table: PartitionTable, keys: number, batch: Batch): TraversalCost[] {
    const costs = this.#device.traversalCosts
    return costs === undefined
      ? []
      : estimate(costs, situationOf(this.#shape.full, arena, table, keys, batch))
  }
}

/**
 * What there is to say of a batch where trees have no partitions, or nothing at all.
 * @param arena undefined where the tree has nothing
 */
export function explainSequential({ count: batch, digits }: Batch, arena: Arena | undefined): Explanation {
  const reason = whySequential(arena)
  return { strategy: 'sequential', batch, digits, partitions: null, reason, costs: [], tables: null }
}

function whySequential(arena: Arena | undefined): string {
  if (arena === undefined) return 'the index is empty'
  const { sorted, tuples } = arena
  if (sorted === undefined)
    return 'the index has no partitions, so that each key goes down the tree by itself; one of structure prefix has them unless it is told otherwise'
  const written = tuples.records - sorted.tuples
  const delta =
    written === 0 ? '' : `, and then in the tree of the ${written} that were written since the last merge`
  return `the index is a CSS-tree: each key is looked up in its ${sorted.tuples} sorted keys${delta}; one of structure prefix has partitions, and other strategies`
}
