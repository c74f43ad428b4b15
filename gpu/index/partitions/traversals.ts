import { toWarpdexError } from '../../../protocol/errors.js'
import type { Explanation, Traversal } from '../../../protocol/traversal.js'
import type { Device } from '../../device/device.js'
import type { Arena } from '../arena.js'
import type { Locator, Ready } from './locator.js'
import { explainSequential, refusePartitioned } from './no-partitions.js'
import type { Batch, TraversalPlanner } from './traversal-planner.js'

/** The ways in which trees of one shape find keys, and the choice between them. */
export class Traversals {
  readonly #device: Device
  /** Undefined where trees have no partitions. */
  readonly #locator: Locator | undefined
  readonly #planner: TraversalPlanner

  constructor(device: Device, locator: Locator | undefined, planner: TraversalPlanner) {
    this.#device = device
    this.#locator = locator
    this.#planner = planner
  }

  /**
   * Checks what a request names.
   * @throws WarpdexError `BAD_REQUEST` when it needs partitions and the trees have none
   */
  check(named: Traversal | undefined): void {
    if (this.#locator === undefined) refusePartitioned(named)
  }

  /** Whether there is nothing to choose or to make ready: keys go down from the root. */
  isSequential(named: Traversal | undefined): boolean {
    if (named !== undefined) return named.strategy === 'sequential'
    return this.#locator === undefined || this.#device.traversalCosts === undefined
  }

  /**
   * Makes ready the traversal that the request names or, if it names none, the one that is expected to be the fastest.
   * @param keys number of the tree's keys
   * @returns undefined for sequential traversal
   * @throws WarpdexError as `Locator.ready`, for what the request names; of its own choice a tree falls back to sequential traversal
   */
  async ready(
    arena: Arena,
    keys: number,
    batch: Batch,
    named: Traversal | undefined,
  ): Promise<Ready | undefined> {
    const locator = this.#locator
    if (locator === undefined) return undefined
    try {
      const traversal = named ?? (await this.#choose(locator, arena, keys, batch))
      return traversal.strategy === 'sequential' ? undefined : await locator.ready(arena, traversal)
    } catch (error) {
      if (named !== undefined || toWarpdexError(error).code !== 'OUT_OF_DEVICE_MEMORY') throw error
      return undefined
    }
  }

  async #choose(locator: Locator, arena: Arena, keys: number, batch: Batch): Promise<Traversal> {
    const table = await locator.partitions(arena)
    return this.#planner.choose({ arena, table, keys }, batch, undefined).traversal
  }

  /**
   * Brings a tree's partitions up to date after a write, so that no read has to. Where there is no room for them reads do without.
   */
  async maintain(arena: Arena): Promise<void> {
    try {
      await this.#locator?.partitions(arena)
    } catch (error) {
      if (toWarpdexError(error).code !== 'OUT_OF_DEVICE_MEMORY') throw error
    }
  }

  /** Says how a batch would be found, and why; without the tables. */
  async explain(
    arena: Arena | undefined,
    keys: number,
    batch: Batch,
    named: Traversal | undefined,
  ): Promise<Explanation> {
    if (this.#locator === undefined || arena === undefined) {
      return explainSequential(batch, arena)
    }
    const table = await this.#locator.partitions(arena)
    const { traversal, reason, costs } = this.#planner.choose({ arena, table, keys }, batch, named)
    return {
      ...traversal,
      batch: batch.count,
      digits: batch.digits,
      partitions: { count: table.count, levels: table.levels },
      reason,
      costs,
      tables: null,
    }
  }
}
