import type { Traversal } from '../../../protocol/traversal.js'
import {
  costName,
  type Features,
  featuresOf,
  type Situation,
  type TraversalCosts,
  timeOf,
} from './traversal-costs.js'

/** What a traversal took in one situation. */
export interface Measurement {
  readonly situation: Situation
  readonly microseconds: number
}

/** Waiting and work are fitted in turns, each to what the other leaves to explain. */
const ROUNDS = 8

/** A measurement of which one kind explains more than this share says next to nothing of the other. */
const MOST_EXPLAINED = 0.7

/** A measurement with what is known of it in the current round. */
interface Row {
  readonly microseconds: number
  readonly features: Features
  /** Microseconds of each kind, as far as they are fitted. */
  readonly fitted: Record<keyof Features, number>
}

/** The costs that fit measurements best, for each traversal by itself. */
export function fitCosts(measurements: ReadonlyMap<Traversal, readonly Measurement[]>): TraversalCosts {
  const costs: Record<string, number> = {}
  for (const [traversal, measured] of measurements) {
    const rows = measured.map(({ situation, microseconds }) => ({
      microseconds,
      features: featuresOf(traversal, situation),
      // Of a few queries all is taken for waiting at first, of many all for work.
      fitted:
        situation.batch <= FEW ? { waiting: microseconds, work: 0 } : { waiting: 0, work: microseconds },
    }))
    for (let round = 0; round < ROUNDS; round++) {
      Object.assign(costs, fitKind(traversal, 'waiting', 'work', rows))
      Object.assign(costs, fitKind(traversal, 'work', 'waiting', rows))
    }
  }
  return costs
}

/** What no device can have of fitted costs, which shows that something else was measured as well; undefined if there is nothing. */
export function impossibleCost(
  costs: TraversalCosts,
  measurements: ReadonlyMap<Traversal, readonly Measurement[]>,
): string | undefined {
  return freeWork(costs, measurements) ?? freeReversal(costs, measurements)
}

/** A traversal that takes no time at all, or no more for many keys than for one. */
function freeWork(
  costs: TraversalCosts,
  measurements: ReadonlyMap<Traversal, readonly Measurement[]>,
): string | undefined {
  for (const [traversal, measured] of measurements) {
    const isFree = (kind: keyof Features) =>
      measured.every(({ situation }) =>
        Object.keys(featuresOf(traversal, situation)[kind]).every(
          (name) => !(costs[costName(traversal, kind, name)]! > 0),
        ),
      )
    const batches = new Set(measured.map(({ situation }) => situation.batch))
    if (batches.size > 0 && isFree('waiting')) return `${nameOf(traversal)} would take no time for one key`
    if (batches.size > 1 && isFree('work')) return `${nameOf(traversal)} would take no time for more keys`
  }
  return undefined
}

/** The reversed table is made on top of what serial resolution does, so that it cannot halve the time of all partitions. */
const LEAST_SHARE = 1 / 2

/** A traversal for which building a table of all partitions takes less than nothing. */
function freeReversal(
  costs: TraversalCosts,
  measurements: ReadonlyMap<Traversal, readonly Measurement[]>,
): string | undefined {
  for (const [traversal, measured] of measurements) {
    const { strategy, resolution } = traversal
    const visitsAll = strategy === 'speculative' || strategy === 'hierarchical'
    if (!visitsAll || resolution !== 'reversed') continue
    const shares = measured.map(({ situation }) => {
      const [reversed, serial] = (['reversed', 'serial'] as const).map((resolution) =>
        timeOf(costs, { strategy, resolution }, situation),
      )
      return reversed / serial
    })
    const middle = shares.sort((one, other) => one - other)[shares.length >> 1]
    if (middle < LEAST_SHARE) {
      return `${nameOf(traversal)} would take less than half of what it takes without reversal`
    }
  }
  return undefined
}

const nameOf = ({ strategy, resolution }: Traversal): string =>
  resolution === undefined ? strategy : `${strategy}, ${resolution},`

const FEW = 16

/** Fits the costs of one kind of features to what the other kind leaves of each measurement. */
function fitKind(
  traversal: Traversal,
  kind: keyof Features,
  other: keyof Features,
  rows: readonly Row[],
): TraversalCosts {
  const telling = rows.filter(({ microseconds, fitted }) => fitted[other] <= MOST_EXPLAINED * microseconds)
  const left = telling.map(({ microseconds, fitted, features }) => {
    const rest = Math.sqrt(microseconds ** 2 - fitted[other] ** 2)
    return Object.values(features[kind]).map((amount) => amount / rest)
  })
  const coefficients = fitToOnes(left)
  const names = Object.keys(rows[0]?.features[kind] ?? {})
  for (const { features, fitted } of rows) {
    fitted[kind] = Object.values(features[kind]).reduce(
      (sum, amount, i) => sum + amount * (coefficients[i] ?? 0),
      0,
    )
  }
  return Object.fromEntries(names.map((name, i) => [costName(traversal, kind, name), coefficients[i] ?? 0]))
}

/** Rounds of coordinate descent; a handful of unknowns settle in far fewer. */
const DESCENT_ROUNDS = 2000

/**
 * Coefficients x ≥ 0 for which rows · x comes closest to 1 in each row, in the sense of least squares: costs are fitted to
 * measurements relative to each, and none is negative. By coordinate descent, which needs no more than a few lines for so few unknowns.
 */
function fitToOnes(rows: readonly (readonly number[])[]): number[] {
  const width = rows[0]?.length ?? 0
  // Columns differ by many orders of magnitude.
  const scales = Array.from({ length: width }, (_, j) => Math.max(...rows.map((row) => row[j])) || 1)
  const scaled = rows.map((row) => row.map((value, j) => value / scales[j]))
  const x = new Array<number>(width).fill(0)
  const rest = rows.map(() => 1)
  for (let round = 0; round < DESCENT_ROUNDS; round++) {
    for (let j = 0; j < width; j++) {
      let slope = 0
      let curvature = 0
      scaled.forEach((row, i) => {
        slope += row[j] * rest[i]
        curvature += row[j] * row[j]
      })
      if (curvature === 0) continue
      const next = Math.max(0, x[j] + slope / curvature)
      const step = next - x[j]
      x[j] = next
      scaled.forEach((row, i) => {
        rest[i] -= step * row[j]
      })
    }
  }
  return x.map((value, j) => value / scales[j])
}
