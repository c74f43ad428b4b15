import { TRAVERSALS, type Traversal, type TraversalCost } from '../../../protocol/traversal.js'

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

/** Nodes of fewer bytes are taken to lie in a device's cache. */
const CACHED_BYTES = 2 ** 25

/** Doublings of a batch that make its slowest query slower. */
const MOST_SPREAD = 8

/** Digits that are hashed in one step. */
const HASHED_DIGITS = 8

/**
 * The features of a situation that a traversal's time is a sum of: what it takes by itself (`launch`), what one query after the other
 * must wait for (`path`, `levels`: each a dependent load; more of them the more queries there are, since the slowest counts; `compare`:
 * digits of the full key, by one thread), and what each query of the batch adds. `far` ones weigh how far the nodes are from fitting a cache, in doublings.
 */
export function featuresOf({ strategy }: Traversal, s: Situation): Readonly<Record<string, number>> {
  const far = Math.log2(1 + s.nodeBytes / CACHED_BYTES)
  const spread = Math.min(MOST_SPREAD, Math.log2(s.batch))
  if (strategy === 'sequential') {
    return {
      launch: 1,
      path: s.path,
      'far path': s.path * far,
      'spread path': s.path * spread,
      compare: s.digits,
      query: s.batch,
      'query compare': s.batch * s.meanDigits,
      'query path': s.batch * s.meanPath,
      'far query path': s.batch * s.meanPath * far,
    }
  }
  const levels = Math.min(s.levels, s.path)
  if (strategy === 'directed') {
    return {
      launch: 1,
      levels,
      'far levels': levels * far,
      'spread levels': levels * spread,
      query: s.batch,
      'query compare': s.batch * s.meanDigits,
      'query path': s.batch * s.meanPath,
      'far query path': s.batch * s.meanPath * far,
      'query hash': (s.batch * s.bands * s.digits) / HASHED_DIGITS,
    }
  }
  return {
    launch: 1,
    levels,
    'far levels': levels * far,
    'query bands': s.batch * s.bands,
    'query partition': s.batch * s.partitions,
    'query partition levels': s.batch * s.partitions * levels,
  }
}

export function costName({ strategy, resolution }: Traversal, feature: string): string {
  return [strategy, resolution, feature].filter((part) => part !== undefined).join(' ')
}

/** What every traversal is expected to take, cheapest first. One whose costs are not known is left out. */
export function estimate(costs: TraversalCosts, situation: Situation): TraversalCost[] {
  const estimates: TraversalCost[] = []
  for (const traversal of TRAVERSALS) {
    let microseconds = 0
    for (const [feature, amount] of Object.entries(featuresOf(traversal, situation))) {
      microseconds += amount * (costs[costName(traversal, feature)] ?? Number.NaN)
    }
    if (!Number.isNaN(microseconds)) estimates.push({ ...traversal, microseconds })
  }
  return estimates.sort((one, other) => one.microseconds - other.microseconds)
}

/**
 * Nodes on the way to a tuple, of a `compact` tree: nodes have this many children on average, and keys part at random. A `full` tree
 * has a node for every digit.
 */
export function pathLength(full: boolean, digits: number, keys: number, nodes: number): number {
  if (full) return digits
  const children = Math.max(2, 1 + keys / Math.max(1, nodes))
  return Math.max(1, Math.min(digits, Math.log(Math.max(2, keys)) / Math.log(children)))
}
