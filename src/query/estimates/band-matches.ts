import { partitionPoint } from '../../../protocol/partition-point.js'
import { COMMON_ROWS, type ExpectedMatches, type SampleMatches } from './key-matches.js'
import { isComplete, type Sampled, weightedSum } from './node-estimate.js'
import { tallyOf } from './sample-keys.js'

/** Estimates which rows match by left ≤ right ≤ left + width, of 32-bit integers: each left row those of the right side that lie so. */
export function matchBand(left: Sampled, right: Sampled, width: number): SampleMatches {
  const ofLeft = rowMatches(left, new Distribution(right), (value) => [value, value + width])
  const ofRight = rowMatches(right, new Distribution(left), (value) => [value - width, value])
  // Either side's rows say how many pairs there are: the mean of both.
  const pairs = (weightedSum(left.source, ofLeft.matches) + weightedSum(right.source, ofRight.matches)) / 2
  return { pairs, left: ofLeft, right: ofRight }
}

function rowMatches(
  { samples: [column] }: Sampled,
  other: Distribution,
  reach: (value: number) => readonly [low: number, high: number],
): ExpectedMatches {
  const { places, values } = column!
  const ofValue = Float64Array.from(values, (value) => other.rowsBetween(...reach(Number(value))))
  const matches = Float64Array.from(places, (place) => (place < 0 ? 0 : ofValue[place]!))
  return { matches, chance: matches.map((rows) => other.chanceOf(rows)) }
}

/** How many rows of a side lie below a value. */
class Distribution {
  /** Upper ends of stretches, and the rows up to each. */
  readonly #ends: number[] = []
  readonly #rows: number[] = []
  readonly #isComplete: boolean

  constructor({ source, samples: [column] }: Sampled) {
    const { places, values } = column!
    this.#isComplete = isComplete(source)
    const tally = tallyOf({ keys: places, count: values.length }, source)
    let rows = 0
    tally.rows.forEach((weight, place) => {
      if (weight === 0) return
      const value = Number(values[place]!)
      // Rare values lie evenly from the one before on: the sample does not have all of them.
      const isKnown = this.#isComplete || tally.sampled[place]! >= COMMON_ROWS || this.#ends.length === 0
      if (isKnown) this.#add(value - 1, rows)
      rows += weight
      this.#add(value, rows)
    })
  }

  #add(end: number, rows: number): void {
    this.#ends.push(end)
    this.#rows.push(rows)
  }

  /** Rows from one value to another, both included. */
  rowsBetween(low: number, high: number): number {
    return this.#upTo(high) - this.#upTo(low - 1)
  }

  /** The chance that there is one of so many rows as are expected. */
  chanceOf(rows: number): number {
    return this.#isComplete ? Math.min(1, rows) : -Math.expm1(-rows)
  }

  #upTo(value: number): number {
    const next = partitionPoint(0, this.#ends.length, (place) => this.#ends[place]! <= value)
    if (next === 0) return 0
    const [end, rows] = [this.#ends[next - 1]!, this.#rows[next - 1]!]
    if (next === this.#ends.length) return rows
    return rows + ((value - end) / (this.#ends[next]! - end)) * (this.#rows[next]! - rows)
  }
}
