import type { Explanation, Traversal, TraversalCost } from '../../../protocol/traversal.js'
import type { Device } from '../../device/device.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import type { PartitionTable } from './partitions.js'
import { estimate, pathLength, type Situation } from './traversal-costs.js'

/** A batch of keys to be found. */
export interface Batch {
  readonly count: number
  /** Digits of the longest key. */
  readonly digits: number
  readonly meanDigits: number
}

/** A tree with partitions. */
export interface PartitionedTree {
  readonly arena: Arena
  readonly table: PartitionTable
  readonly keys: number
}

/** What is chosen for a batch, and why. */
export type Choice = Pick<Explanation, 'reason' | 'costs'> & { readonly traversal: Traversal }

const SEQUENTIAL: Traversal = { strategy: 'sequential' }

/** Chooses how to find the keys of a batch, from what traversals cost on the device (design, "Traversal strategies"). */
export class TraversalPlanner {
  readonly #device: Device
  readonly #shape: TreeShape

  constructor(device: Device, shape: TreeShape) {
    this.#device = device
    this.#shape = shape
  }

  /** @param named what the request names, if it does */
  choose(tree: PartitionedTree, batch: Batch, named: Traversal | undefined): Choice {
    const costs = this.#estimates(tree, batch)
    if (named !== undefined) return { traversal: named, reason: 'the request names it', costs }
    const [cheapest] = costs
    if (cheapest === undefined) {
      const reason = 'what the other strategies cost on this adapter has not been measured'
      return { traversal: SEQUENTIAL, reason, costs }
    }
    const { microseconds, ...traversal } = cheapest
    return { traversal, reason: reasonOf(microseconds, costs, tree, batch), costs }
  }

  #estimates({ arena, table, keys }: PartitionedTree, { count, digits, meanDigits }: Batch): TraversalCost[] {
    const costs = this.#device.traversalCosts
    if (costs === undefined) return []
    const pathOf = (digits: number) => pathLength(this.#shape.full, digits, keys, arena.nodes.records)
    const situation: Situation = {
      batch: count,
      digits,
      meanDigits,
      path: pathOf(digits),
      meanPath: pathOf(meanDigits),
      levels: table.levels,
      bands: table.bandsOf(digits),
      partitions: table.count,
      nodeBytes: arena.nodes.usedBytes,
    }
    return estimate(costs, situation)
  }
}

function reasonOf(
  microseconds: number,
  costs: readonly TraversalCost[],
  { table }: PartitionedTree,
  { count, digits }: Batch,
): string {
  const { levels, count: partitions } = table
  const keys = count === 1 ? 'a key' : `${count} keys`
  const tree = `${partitions} partitions of ${levels} levels`
  return `${keys} of up to ${digits} digits over ${tree} are expected to take ${microseconds.toPrecision(3)} µs that way, the least of ${costs.length}`
}
