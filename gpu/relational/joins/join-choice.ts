import type { JoinKind } from '../../../protocol/query/tree.js'
import { BUCKET_KEYS_BITS } from './index-join.js'
import { JOIN_ALGORITHMS, type JoinAlgorithm, type SideName } from './join-types.js'
import { PROBE_BLOCK } from './nested-loop-join.js'

/** What is known of a side before it is joined. */
export interface SideFacts {
  readonly count: number
  readonly sorted: boolean
  /** Whether its keys are known to be all different. */
  readonly unique: boolean
  /** Whether an index of the server is over it. */
  readonly indexed: boolean
}

/** What is known of a join before it runs. */
export interface JoinFacts {
  readonly left: SideFacts
  readonly right: SideFacts
  readonly keyWords: 1 | 2
  /** Lowest bits in which keys differ, at most: all of them unless given. */
  readonly keyBits?: number
  readonly band: boolean
  readonly kind: JoinKind
  /** Whether the CPU is the device. */
  readonly software: boolean
}

/** How a join is run. */
export interface JoinChoice {
  readonly algorithm: JoinAlgorithm
  /** The side that is indexed, cut into tiles, hashed, or gone through for every row of the other. */
  readonly build: SideName
  /** What the algorithms that can do it are estimated to take, in nanoseconds; the chosen one the least. */
  readonly costs: Readonly<Partial<Record<JoinAlgorithm, number>>>
}

/** What steps take in nanoseconds: a row, unless said otherwise. */
interface Costs {
  /** A dispatch, whatever it does. */
  readonly dispatch: number
  /** A pass of a radix sort, and the hashing of a key. */
  readonly pass: number
  readonly hash: number
  /** A row of either side of a hash join, once it is in its partition. */
  readonly hashBuild: number
  readonly hashProbe: number
  /** A row of either side of a sort-merge join, once both are sorted. */
  readonly mergeBuild: number
  readonly mergeProbe: number
  /** A row that is sorted already and indexed, of those for which there are as many buckets as probes at most. */
  readonly index: number
  /** A probe in no order, and one of a sorted side. */
  readonly probe: number
  readonly sortedProbe: number
  /** One in a tree of the server, which is gone down for counting and once more for the rows. */
  readonly treeProbe: number
  /** A pair of keys, for each word of these, and a probe that is compared with some. */
  readonly comparison: number
  readonly comparedProbe: number
}

/** On a GPU: an H200's, fitted to joins of 1, 4 and 16 M rows (docs/papers/he.md). */
const GPU_COSTS: Costs = {
  dispatch: 9000,
  pass: 0.014,
  hash: 0.003,
  hashBuild: 0.018,
  hashProbe: 0.012,
  mergeBuild: 0.003,
  mergeProbe: 0.008,
  index: 0.0045,
  probe: 0.028,
  sortedProbe: 0.02,
  treeProbe: 0.18,
  comparison: 0.0000945,
  comparedProbe: 0.01,
}

/** On a CPU, where barriers take much: SwiftShader's on two cores, by its kernels of 1 M rows. */
const CPU_COSTS: Costs = {
  dispatch: 50_000,
  pass: 40,
  hash: 6,
  hashBuild: 1000,
  hashProbe: 200,
  mergeBuild: 60,
  mergeProbe: 190,
  index: 16,
  probe: 150,
  sortedProbe: 115,
  treeProbe: 1500,
  comparison: 2.3,
  comparedProbe: 20,
}

const DIGIT_BITS = 8
/** Dispatches of a radix sort's pass, and of a sort of so few rows that two do. */
const PASS_DISPATCHES = 3
const FEW_ROWS = 2 ** 15
/** Passes that partition the sides of a hash join, and its dispatches beside these. */
const HASH_PASSES = 2
const HASH_DISPATCHES = 7
/** Those of the search of an index, of one of the server, and of a merge. */
const INDEX_DISPATCHES = 2
const TREE_DISPATCHES = 10
const MERGE_DISPATCHES = 2

/** Keys that a probe is compared with at a time, by a nested loop. */
const COMPARED_KEYS = 4

/** How likely a probe is taken to have several matches, for all that is known: then INLJ has to bring them side by side. */
const SEVERAL = 1 / 2

/** Fewer probes than these are not put in order for an index: what they look into is in caches anyway. */
const ORDERED_PROBES = 2 ** 18

/**
 * Whether the probes of INLJ are put in order of their leading byte first, so that neighbours look into the same lines of memory. A CPU's caches
 * make any order as good.
 */
export function ordersProbes({ count, sorted = false }: Partial<SideFacts>, software: boolean): boolean {
  return !software && !sorted && count !== undefined && count >= ORDERED_PROBES
}

/**
 * Chooses the join for what is to be joined: an index that exists or a side in order makes INLJ and SMJ cheap, few rows NINLJ; HJ needs
 * no order, and can do equality only. What all have in common, the counting and writing of what is found, is left out.
 * @param given the algorithm, where it is not to be chosen; not HJ for a band
 */
export function chooseJoin(facts: JoinFacts, given: JoinAlgorithm | 'auto' = 'auto'): JoinChoice {
  const costs: Partial<Record<JoinAlgorithm, number>> = {}
  let best: { algorithm: JoinAlgorithm; build: SideName; cost: number } | undefined
  for (const candidate of JOIN_ALGORITHMS) {
    if (given !== 'auto' && candidate !== given) continue
    if (candidate === 'hj' && facts.band) continue
    for (const build of buildSides(facts)) {
      const cost = costOf(candidate, facts, build)
      costs[candidate] = Math.min(cost, costs[candidate] ?? Number.POSITIVE_INFINITY)
      if (best === undefined || cost < best.cost) best = { algorithm: candidate, build, cost }
    }
  }
  const { algorithm, build } = best!
  return { algorithm, build, costs }
}

/** Semi and anti joins ask of each left row whether it matches, which probes know. */
function buildSides({ kind }: JoinFacts): readonly SideName[] {
  return kind === 'semi' || kind === 'anti' ? ['right'] : ['right', 'left']
}

/** In nanoseconds. */
function costOf(algorithm: JoinAlgorithm, facts: JoinFacts, buildName: SideName): number {
  const { software, kind, keyWords, keyBits = 32 * keyWords } = facts
  const cost = software ? CPU_COSTS : GPU_COSTS
  const build = facts[buildName]
  const probe = facts[buildName === 'left' ? 'right' : 'left']
  const passes = (count: number, times: number) => {
    return times * (cost.pass * count + cost.dispatch * PASS_DISPATCHES)
  }
  const order = ({ sorted, count }: SideFacts) => {
    if (sorted) return 0
    const times = Math.ceil(keyBits / DIGIT_BITS)
    return count <= FEW_ROWS ? times * cost.pass * count + 2 * cost.dispatch : passes(count, times)
  }
  switch (algorithm) {
    case 'ninlj': {
      // A workgroup takes as long for a few probes as for a block of them.
      const pairs = roundUp(probe.count, PROBE_BLOCK) * roundUp(build.count, COMPARED_KEYS)
      const compared = cost.dispatch + cost.comparison * keyWords * pairs + cost.comparedProbe * probe.count
      const isCounted = build.unique || kind === 'semi' || kind === 'anti'
      return isCounted ? compared : compared + SEVERAL * costOf('inlj', facts, buildName)
    }
    case 'inlj': {
      if (build.indexed) return cost.treeProbe * probe.count + TREE_DISPATCHES * cost.dispatch
      const indexed = Math.min(build.count, probe.count * 2 ** BUCKET_KEYS_BITS)
      const index = order(build) + cost.index * indexed
      const probes =
        (probe.sorted ? cost.sortedProbe : cost.probe) * probe.count +
        (ordersProbes(probe, software) ? passes(probe.count, 1) : 0)
      return index + probes + INDEX_DISPATCHES * cost.dispatch
    }
    case 'smj': {
      const merge = cost.mergeBuild * build.count + cost.mergeProbe * probe.count
      return order(build) + order(probe) + merge + MERGE_DISPATCHES * cost.dispatch
    }
    case 'hj': {
      const partitions = [build.count, probe.count].map(
        (count) => passes(count, HASH_PASSES) + cost.hash * count,
      )
      const match = cost.hashBuild * build.count + cost.hashProbe * probe.count
      return partitions[0]! + partitions[1]! + match + HASH_DISPATCHES * cost.dispatch
    }
  }
}

function roundUp(count: number, whole: number): number {
  return Math.ceil(count / whole) * whole
}
