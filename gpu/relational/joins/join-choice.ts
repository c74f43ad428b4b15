import { JOIN_ALGORITHMS, type JoinAlgorithm, type JoinKind, type SideName } from './join-types.js'

/** What is known of a side before it is joined. */
export interface SideFacts {
  readonly count: number
  readonly sorted: boolean
  /** Whether an index of the server is over it. */
  readonly indexed: boolean
}

/** What is known of a join before it runs. */
export interface JoinFacts {
  readonly left: SideFacts
  readonly right: SideFacts
  readonly keyWords: 1 | 2
  readonly band: boolean
  readonly kind: JoinKind
  /** Whether the CPU is the device. */
  readonly software: boolean
}

/** How a join is run. */
export interface JoinChoice {
  readonly algorithm: JoinAlgorithm
  /** The side that is indexed, cut into chunks, hashed, or gone through for every row of the other. */
  readonly build: SideName
  /** What the algorithms that can do it are estimated to take, in nanoseconds; the chosen one the least. */
  readonly costs: Readonly<Partial<Record<JoinAlgorithm, number>>>
}

/** What the steps cost that tell the joins apart, a row, in passes of a radix sort over a row. */
interface Costs {
  /** Nanoseconds of a pass over a row. */
  readonly pass: number
  readonly hash: number
  /** A row of either side of a hash join, once it is in its partition. */
  readonly hashBuild: number
  readonly hashProbe: number
  /** A row of either side of a sort-merge join, once both are sorted. */
  readonly mergeBuild: number
  readonly mergeProbe: number
  /** A row that is sorted already and indexed. */
  readonly index: number
  /** A probe in no order, and one of a sorted side. */
  readonly probe: number
  readonly sortedProbe: number
  /** One in a tree of the server, which is gone down for counting and once more for the rows. */
  readonly treeProbe: number
  readonly comparison: number
  /** A dispatch, before it does anything. */
  readonly start: number
}

/** On a GPU: an H200's (bench/results/nvidia-h200). */
const GPU_COSTS: Costs = {
  pass: 0.015,
  hash: 0.2,
  hashBuild: 1.2,
  hashProbe: 0.8,
  mergeBuild: 0.2,
  mergeProbe: 0.8,
  index: 0.5,
  probe: 3,
  sortedProbe: 0.8,
  treeProbe: 12,
  comparison: 0.0063,
  start: 250_000,
}

/** On a CPU, where barriers take much (SwiftShader). */
const CPU_COSTS: Costs = {
  pass: 25,
  hash: 0.5,
  hashBuild: 40,
  hashProbe: 20,
  mergeBuild: 2,
  mergeProbe: 10,
  index: 1,
  probe: 8,
  sortedProbe: 6,
  treeProbe: 60,
  comparison: 0.1,
  start: 2000,
}

const DIGIT_BITS = 8
/** Passes that partition the sides of a hash join, and the dispatches of one. */
const HASH_PASSES = 2
const PASS_DISPATCHES = 3
/** Those of a join on a tree. */
const TREE_DISPATCHES = 10
/** So few rows are sorted by two dispatches. */
const FEW_ROWS = 2 ** 15

/**
 * Chooses the join for what is to be joined: an index that exists or a side in order makes INLJ and SMJ cheap, few rows NINLJ; HJ needs
 * no order, and can do equality only.
 * @param given the algorithm, where it is not to be chosen
 */
export function chooseJoin(facts: JoinFacts, given: JoinAlgorithm | 'auto' = 'auto'): JoinChoice {
  const unit = facts.software ? CPU_COSTS : GPU_COSTS
  const costs: Partial<Record<JoinAlgorithm, number>> = {}
  let best: { algorithm: JoinAlgorithm; build: SideName; cost: number } | undefined
  for (const candidate of JOIN_ALGORITHMS) {
    if (given !== 'auto' && candidate !== given) continue
    if (candidate === 'hj' && facts.band) continue
    for (const build of buildSides(facts)) {
      const cost = unit.pass * costOf(candidate, facts, build, unit)
      costs[candidate] = Math.min(cost, costs[candidate] ?? Number.POSITIVE_INFINITY)
      if (best === undefined || cost < best.cost) best = { algorithm: candidate, build, cost }
    }
  }
  const { algorithm: chosen, build } = best ?? { algorithm: 'smj', build: 'right' }
  return { algorithm: chosen, build, costs }
}

/** Semi and anti joins ask of each left row whether it matches, which probes know. */
function buildSides({ kind }: JoinFacts): readonly SideName[] {
  return kind === 'semi' || kind === 'anti' ? ['right'] : ['right', 'left']
}

/** In passes of a radix sort over a row. */
function costOf(algorithm: JoinAlgorithm, facts: JoinFacts, buildName: SideName, cost: Costs): number {
  const build = facts[buildName]
  const probe = facts[buildName === 'left' ? 'right' : 'left']
  const passes = (32 * facts.keyWords) / DIGIT_BITS
  const order = ({ sorted, count }: SideFacts) => {
    if (sorted) return 0
    return passes * count + cost.start * (count <= FEW_ROWS ? 2 : passes * PASS_DISPATCHES)
  }
  switch (algorithm) {
    case 'ninlj':
      return cost.start + cost.comparison * facts.keyWords * build.count * probe.count
    case 'inlj': {
      if (build.indexed) return cost.treeProbe * probe.count + TREE_DISPATCHES * cost.start
      const index = order(build) + cost.index * build.count + cost.start
      return index + (probe.sorted ? cost.sortedProbe : cost.probe) * probe.count + cost.start
    }
    case 'smj':
      return (
        order(build) +
        order(probe) +
        cost.mergeBuild * build.count +
        cost.mergeProbe * probe.count +
        4 * cost.start
      )
    case 'hj':
      return (
        (cost.hash + HASH_PASSES) * (build.count + probe.count) +
        cost.hashBuild * build.count +
        cost.hashProbe * probe.count +
        (4 * PASS_DISPATCHES + 6) * cost.start
      )
  }
}
