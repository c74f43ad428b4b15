import { type Column, countOf } from '../../../protocol/columns.js'
import { TRAVERSALS, type Traversal, type TraversalCost } from '../../../protocol/traversal.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import type { PartitionTable } from './partitions.js'

/**
 * What traversals cost on an adapter: microseconds for each unit of each feature of a situation, under the name that `costName` gives.
 * `calibration.ts` measures them.
 */
export type TraversalCosts = Readonly<Record<string, number>>

/** What the cost of finding a batch depends on. */
export interface Situation {
  /** Keys of the batch. */
  readonly batch: number
  /** Digits of the longest of them. */
  readonly digits: number
  readonly meanDigits: number
  /** Nodes that the longest key goes through from the root to its tuple. */
  readonly path: number
  /** Nodes that a key goes through on average. */
  readonly meanPath: number
  /** Levels of a partition. */
  readonly levels: number
  /** Bands of partitions' levels that a key's digits reach. */
  readonly bands: number
  readonly partitions: number
  /** Bytes of the tree's nodes. */
  readonly nodeBytes: number
}

/** A batch of keys to be found. */
export interface Batch {
  readonly count: number
  /** Digits of the longest key. */
  readonly digits: number
  readonly meanDigits: number
}

/** A column as a batch, as far as the host can tell: bytes that are escaped in the normal form add digits. */
export function batchOf({ form, levels }: TreeShape, keys: Column): Batch {
  const count = countOf(keys)
  const { offsets } = keys
  if (form === undefined || offsets === undefined) return { count, digits: levels, meanDigits: levels }
  let longest = 0
  for (let i = 1; i < offsets.length; i++) longest = Math.max(longest, offsets[i] - offsets[i - 1])
  const mean = keys.bytes.byteLength / Math.max(1, count)
  const added = form === 'terminated' ? TERMINATOR_BYTES : 0
  return { count, digits: 2 * (longest + added), meanDigits: 2 * (mean + added) }
}

/** Bytes that end a key in the normal form. */
const TERMINATOR_BYTES = 2

/** What finding a batch in a tree with partitions depends on. */
export function situationOf(
  full: boolean,
  { nodes }: Pick<Arena, 'nodes'>,
  table: PartitionTable,
  keys: number,
  { count, digits, meanDigits }: Batch,
): Situation {
  const pathOf = (digits: number) => pathLength(full, digits, keys, nodes.records)
  return {
    batch: count,
    digits,
    meanDigits,
    path: pathOf(digits),
    meanPath: pathOf(meanDigits),
    levels: table.levels,
    bands: table.bandsOf(digits),
    partitions: table.count,
    nodeBytes: nodes.usedBytes,
  }
}

/**
 * Bands of a block, the paper's |B| / m, unless a traversal says otherwise. The paper finds |B| = N best (§3.2); measured, one band is the best of all
 * heights, or within 4 % of it, in 47 of 48 cases (docs/papers/volk.md).
 */
export const BLOCK_BANDS = 1

/** A traversal, with the bands of a block where `hierarchical` is to have others. */
export interface BlockTraversal extends Traversal {
  readonly blockBands?: number
}

/** Partitions of a block at most, so that their results fit a workgroup's memory; `hierarchical.wesl` has the same number. */
export const BLOCK_PARTITIONS = 1024

/** Nodes of fewer bytes are taken to lie in a device's cache. */
const CACHED_BYTES = 2 ** 25

/** Doublings of a batch that make its slowest query slower. */
const MOST_SPREAD = 8

/** Digits that are hashed in one step. */
const HASHED_DIGITS = 8

/** Amounts of the features by which a traversal's time is estimated, by their names. */
export interface Features {
  /**
   * What one query after the other must wait for: what the traversal takes by itself, dependent loads (the more queries there are, the
   * more of them, since the slowest counts), and the comparison of the full key by one thread.
   */
  readonly waiting: Readonly<Record<string, number>>
  /** What all queries together keep the device busy with. */
  readonly work: Readonly<Record<string, number>>
}

/** The features of a situation. `far` ones weigh how far the nodes are from fitting a cache, in doublings. */
export function featuresOf({ strategy }: Traversal, s: Situation): Features {
  const far = Math.log2(1 + s.nodeBytes / CACHED_BYTES)
  const spread = Math.min(MOST_SPREAD, Math.log2(s.batch))
  const isSequential = strategy === 'sequential'
  const steps = isSequential ? s.path : Math.min(s.levels, s.path)
  const waiting = {
    launch: 1,
    steps,
    'far steps': steps * far,
    'spread steps': steps * spread,
    ...(isSequential && { compare: s.digits }),
    ...(strategy === 'hierarchical' && { hops: s.bands }),
  }
  if (strategy === 'speculative' || strategy === 'hierarchical') {
    const partitions = s.batch * s.partitions
    const work = { bands: s.batch * s.bands, partitions, 'partition levels': partitions * steps }
    return { waiting, work }
  }
  const work = {
    queries: s.batch,
    compare: s.batch * s.meanDigits,
    path: s.batch * s.meanPath,
    'far path': s.batch * s.meanPath * far,
    ...(!isSequential && { hash: (s.batch * s.bands * s.digits) / HASHED_DIGITS }),
  }
  return { waiting, work }
}

export function costName({ strategy, resolution }: Traversal, kind: keyof Features, feature: string): string {
  return [strategy, resolution, kind, feature].filter((part) => part !== undefined).join(' ')
}

/**
 * What a traversal takes that waits for so long and works for so long: the greater of the two where one is much greater, and more than
 * either where they are alike, since waiting queries are overlapped but not all of the time.
 */
function combined(waiting: number, work: number): number {
  return Math.hypot(waiting, work)
}

/** Microseconds that a traversal is expected to take; NaN where its costs are not known. */
export function timeOf(costs: TraversalCosts, traversal: Traversal, situation: Situation): number {
  const features = featuresOf(traversal, situation)
  const sum = (kind: keyof Features) => {
    let total = 0
    for (const [feature, amount] of Object.entries(features[kind])) {
      total += amount * (costs[costName(traversal, kind, feature)] ?? Number.NaN)
    }
    return total
  }
  return combined(sum('waiting'), sum('work'))
}

/** What every traversal is expected to take, cheapest first. One whose costs are not known is left out. */
export function estimate(costs: TraversalCosts, situation: Situation): TraversalCost[] {
  return TRAVERSALS.map((traversal) => ({ ...traversal, microseconds: timeOf(costs, traversal, situation) }))
    .filter(({ microseconds }) => !Number.isNaN(microseconds))
    .sort((one, other) => one.microseconds - other.microseconds)
}

/**
 * Nodes on the way to a tuple, of a `compact` tree: nodes have this many children on average, and keys part at random. A `full` tree
 * has a node for every digit.
 */
function pathLength(full: boolean, digits: number, keys: number, nodes: number): number {
  if (full) return digits
  const children = Math.max(2, 1 + keys / Math.max(1, nodes))
  return Math.max(1, Math.min(digits, Math.log(Math.max(2, keys)) / Math.log(children)))
}
