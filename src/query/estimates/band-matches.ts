import type { ColumnSample } from './column-sample.js'
import { COMMON_ROWS, type Matches, type SideMatches } from './key-matches.js'
import { isComplete, type Source } from './node-estimate.js'

/** One side of a band: a column of 32-bit integers. */
export interface BandSide {
  readonly source: Source
  readonly sample: ColumnSample
}

/** Estimates which rows match by left ≤ right ≤ left + width: each left row those of the right side that lie so. */
export function matchBand(left: BandSide, right: BandSide, width: number): Matches {
  const [ofLeft, ofRight] = [new Distribution(left), new Distribution(right)]
  const found = matchesOf(left, ofRight, (value) => [value, value + width])
  const finding = matchesOf(right, ofLeft, (value) => [value - width, value])
  // Either side's rows say how many pairs there are: the mean of both.
  const pairs = (found.pairs + finding.pairs) / 2
  return { pairs, keys: undefined, left: found.side, right: finding.side }
}

function matchesOf(
  { source, sample: { places, values } }: BandSide,
  other: Distribution,
  reach: (value: number) => readonly [low: number, high: number],
): { readonly pairs: number; readonly side: SideMatches } {
  const ofValue = Float64Array.from(values, (value) => other.rowsBetween(...reach(Number(value))))
  const matches = new Float64Array(places.length)
  const chance = new Float64Array(places.length)
  let [pairs, matched] = [0, 0]
  places.forEach((place, row) => {
    if (place < 0) return
    const rows = ofValue[place]!
    matches[row] = rows
    chance[row] = other.chanceOf(rows)
    pairs += source.weights[row]! * rows
    matched += source.weights[row]! * chance[row]!
  })
  return { pairs, side: { matched, matches, chance } }
}

/** How many rows of a side lie below a value. */
class Distribution {
  /** Upper ends of stretches, and the rows up to each. */
  readonly #ends: readonly number[]
  readonly #rows: readonly number[]
  readonly #isComplete: boolean

  constructor({ source, sample: { places, values } }: BandSide) {
    this.#isComplete = isComplete(source)
    const weights = new Float64Array(values.length)
    const sampled = new Float64Array(values.length)
    places.forEach((place, row) => {
      if (place < 0) return
      weights[place]! += source.weights[row]!
      sampled[place]! += source.present[row]!
    })
    const [ends, rows]: [number[], number[]] = [[], []]
    const add = (end: number, up: number) => {
      ends.push(end)
      rows.push(up)
    }
    let up = 0
    weights.forEach((weight, place) => {
      if (weight === 0) return
      const value = Number(values[place]!)
      const isKnown = this.#isComplete || sampled[place]! >= COMMON_ROWS
      // What a sample has not lies around what it has: halfway to the neighbours.
      const [low, high] = isKnown ? [value - 1, value] : between(values, place)
      if (ends.length === 0 || ends.at(-1)! < low) add(low, up)
      up += weight
      add(high, up)
    })
    this.#ends = ends
    this.#rows = rows
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
    let [low, high] = [0, this.#ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#ends[middle]! <= value) low = middle + 1
      else high = middle
    }
    if (low === 0) return 0
    const [end, rows] = [this.#ends[low - 1]!, this.#rows[low - 1]!]
    if (low === this.#ends.length) return rows
    return rows + ((value - end) / (this.#ends[low]! - end)) * (this.#rows[low]! - rows)
  }
}

/** The stretch around a value that is thought to be like it. */
function between(values: BigUint64Array, place: number): readonly [low: number, high: number] {
  const value = Number(values[place]!)
  const before = place === 0 ? value - 1 : Number(values[place - 1]!)
  const after = place === values.length - 1 ? value + 1 : Number(values[place + 1]!)
  const low = place === 0 ? value - 1 : Math.floor((before + value) / 2)
  return [low, Math.max(value, Math.floor((value + after) / 2))]
}
