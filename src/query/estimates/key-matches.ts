import type { KeySide } from './key-side.js'
import { isComplete } from './node-estimate.js'

/** Rows of a sample that must have a key for the sample to say how often it comes. */
export const COMMON_ROWS = 4
/** Rows of a sample that a stretch of keys has on average, and stretches at most. */
const STRETCH_ROWS = 16
const STRETCHES = 64
/** Deviations from the expected number of pairs of equal keys in two samples at which that is thought to be wrong; it then counts as so many that were seen. */
const DEVIATIONS = 3
const PRIOR_PAIRS = 4
/** Of rows whose key the other side's sample does not have, at least so many are thought to match nothing. */
const UNSURE = 0.05

/** What rows of one side find on the other. */
export interface SideMatches {
  /** Rows that match something. */
  readonly matched: number
  /** For each row of the sample: rows of the other side that it matches, and the chance that there is one. */
  readonly matches: Float64Array
  readonly chance: Float64Array
}

/** How two sides match. */
export interface Matches {
  readonly pairs: number
  /** Different keys that both sides have; undefined where keys need not be equal. */
  readonly keys: number | undefined
  readonly left: SideMatches
  readonly right: SideMatches
}

/** What a side has of each key. */
interface Tally {
  /** By key: rows of the sample, rows that they stand for, and whether that is all of them, as far as can be told. */
  readonly sampled: Float64Array
  readonly rows: Float64Array
  readonly common: Uint8Array
  /** By stretch, of what is not common: rows, and different keys. */
  readonly rareRows: Float64Array
  readonly rareSampled: Float64Array
  readonly rareKeys: Float64Array
}

/** Amounts by key and by stretch that are summed over pairs of equal keys: rows, keys, or rows of samples. */
interface Amounts {
  readonly ofKey: (key: number) => number
  readonly rare: Float64Array
}

/**
 * Estimates how two sides match by equal keys. Keys that are common in a sample are taken as they are there. Of all others it is thought, stretch by
 * stretch of the keys' order (the overlap of two histograms), that each comes as often as the others, and that the side with fewer different keys has
 * them all from the other's (Selinger et al. 1979). How many pairs of equal keys the two samples have corrects that.
 *
 * @param count numbers of keys are below it
 */
export function matchKeys(left: KeySide, right: KeySide, count: number): Matches {
  return new Matching(left, right, count).result()
}

class Matching {
  readonly #sides: readonly [KeySide, KeySide]
  readonly #count: number
  readonly #stretchOf: Int32Array
  readonly #tallies: readonly [Tally, Tally]
  /** By stretch the chance that a key of one side, neither of which knows it to be common in both, is a given key of the other. */
  readonly #equal: Float64Array
  readonly #correction: number

  constructor(left: KeySide, right: KeySide, count: number) {
    this.#sides = [left, right]
    this.#count = count
    const sampled = this.#sides.map((side) => sampledRows(side, count))
    const common = this.#sides.map((side, i) => commonKeys(side, sampled[i]!))
    this.#stretchOf = stretchesOf(sampled, common, count)
    const tally = (i: 0 | 1) => tallyOf(this.#sides[i], sampled[i]!, common[i]!, this.#stretchOf)
    this.#tallies = [tally(0), tally(1)]
    this.#equal = this.#chances()
    this.#correction = this.#corrected()
  }

  result(): Matches {
    const [left, right] = this.#tallies.map(rowsOf) as [Amounts, Amounts]
    const [leftKeys, rightKeys] = this.#tallies.map(keysOf) as [Amounts, Amounts]
    const pairs = this.#sum(left, right)
    const keys = this.#sum(leftKeys, rightKeys)
    const matched = [this.#sum(left, rightKeys), this.#sum(leftKeys, right)]
    return { pairs, keys, left: this.#side(0, matched[0]!), right: this.#side(1, matched[1]!) }
  }

  /** The sum over keys that both have of one amount times the other. */
  #sum(left: Amounts, right: Amounts): number {
    const exact = this.#both((key) => left.ofKey(key) * right.ofKey(key))
    return exact + this.#correction * this.#rareSum(left, right)
  }

  #both(amount: (key: number) => number): number {
    let sum = 0
    for (let key = 0; key < this.#count; key++) if (this.#isBoth(key)) sum += amount(key)
    return sum
  }

  #isBoth(key: number): boolean {
    const [left, right] = this.#tallies
    return left.common[key] === 1 && right.common[key] === 1
  }

  #rareSum(left: Amounts, right: Amounts): number {
    const onlyLeft = this.#commonOfOne(0, left)
    const onlyRight = this.#commonOfOne(1, right)
    return this.#equal.reduce((sum, chance, s) => {
      const [l, r] = [left.rare[s]!, right.rare[s]!]
      return sum + chance * (l * r + onlyLeft[s]! * r + l * onlyRight[s]!)
    }, 0)
  }

  /** By stretch, what a side has in keys that are common in it and not in the other. */
  #commonOfOne(side: 0 | 1, { ofKey }: Amounts): Float64Array {
    const sums = new Float64Array(this.#tallies[0].rareRows.length)
    const { common } = this.#tallies[side]
    for (let key = 0; key < this.#count; key++) {
      if (common[key] === 1 && !this.#isBoth(key)) sums[this.#stretchOf[key]!]! += ofKey(key)
    }
    return sums
  }

  #chances(): Float64Array {
    const [left, right] = this.#tallies
    const [ofLeft, ofRight] = [this.#commonOfOne(0, ONE_EACH), this.#commonOfOne(1, ONE_EACH)]
    return left.rareKeys.map((keys, s) => {
      const [l, r] = [keys + ofLeft[s]!, right.rareKeys[s]! + ofRight[s]!]
      return 1 / Math.max(1, l, r)
    })
  }

  /** By what factor the pairs that the samples have of keys that are not common in both differ from what was to be expected. */
  #corrected(): number {
    const [left, right] = this.#tallies
    const expected = this.#rareSum(sampledOf(left), sampledOf(right))
    let seen = 0
    for (let key = 0; key < this.#count; key++) {
      if (!this.#isBoth(key)) seen += left.sampled[key]! * right.sampled[key]!
    }
    if (Math.abs(seen - expected) <= DEVIATIONS * Math.sqrt(expected)) return 1
    return (PRIOR_PAIRS + seen) / (PRIOR_PAIRS + expected)
  }

  #side(side: 0 | 1, matched: number): SideMatches {
    const { keys, source } = this.#sides[side]
    const other = this.#tallies[side === 0 ? 1 : 0]
    const isKnown = isComplete(this.#sides[side === 0 ? 1 : 0].source)
    const matches = new Float64Array(keys.length)
    const chance = new Float64Array(keys.length)
    let [sure, unsure, alone] = [0, 0, 0]
    keys.forEach((key, row) => {
      if (key < 0) return
      const isSeen = other.sampled[key]! > 0
      if (isSeen) sure += source.weights[row]!
      else if (isKnown) alone += source.weights[row]!
      else unsure += source.weights[row]!
      if (other.common[key] === 1 || isKnown) {
        matches[row] = other.rows[key]!
        chance[row] = isSeen ? 1 : 0
        return
      }
      const stretch = this.#stretchOf[key]!
      const likely = this.#correction * this.#equal[stretch]!
      matches[row] = likely * other.rareRows[stretch]!
      chance[row] = isSeen ? 1 : Math.min(1, likely * other.rareKeys[stretch]!)
    })
    const most = sure + (1 - UNSURE) * unsure + alone
    return { matched: Math.max(isKnown ? 0 : sure, Math.min(most, matched)), matches, chance }
  }
}

const ONE_EACH: Amounts = { ofKey: () => 1, rare: new Float64Array(0) }

function rowsOf({ rows, rareRows }: Tally): Amounts {
  return { ofKey: (key) => rows[key]!, rare: rareRows }
}

function keysOf({ rareKeys }: Tally): Amounts {
  return { ofKey: () => 1, rare: rareKeys }
}

function sampledOf({ sampled, rareSampled }: Tally): Amounts {
  return { ofKey: (key) => sampled[key]!, rare: rareSampled }
}

function sampledRows({ keys, source }: KeySide, count: number): Float64Array {
  const sampled = new Float64Array(count)
  keys.forEach((key, row) => {
    if (key >= 0) sampled[key]! += source.present[row]! * (source.grouped?.[row] ?? 1)
  })
  return sampled
}

/** Keys of which the sample says how many rows they have. */
function commonKeys({ source }: KeySide, sampled: Float64Array): Uint8Array {
  const least = isComplete(source) ? Number.MIN_VALUE : COMMON_ROWS
  return Uint8Array.from(sampled, (rows) => (rows >= least ? 1 : 0))
}

/** Stretches of keys with about as many rows of the samples each, of keys that are not common. */
function stretchesOf(
  sampled: readonly Float64Array[],
  common: readonly Uint8Array[],
  count: number,
): Int32Array {
  const rare = sampled.map((rows, i) => rows.map((each, key) => (common[i]![key] === 1 ? 0 : each)))
  const sides = rare.map((rows) => ({ rows, total: total(rows) })).filter(({ total }) => total > 0)
  const least = sides.reduce((least, { total }) => Math.min(least, total), Number.POSITIVE_INFINITY)
  const stretches =
    sides.length === 0 ? 1 : Math.min(STRETCHES, Math.max(1, Math.floor(least / STRETCH_ROWS)))
  let before = 0
  return Int32Array.from({ length: count }, (_, key) => {
    // Both sides count alike, however many rows their samples have.
    for (const { rows, total } of sides) before += (stretches * rows[key]!) / total / sides.length
    return Math.min(stretches - 1, Math.floor(before))
  })
}

function tallyOf(
  { source, keys, distinct }: KeySide,
  sampled: Float64Array,
  common: Uint8Array,
  stretchOf: Int32Array,
): Tally {
  const rows = new Float64Array(sampled.length)
  keys.forEach((key, row) => {
    if (key >= 0) rows[key]! += source.weights[row]!
  })
  const stretches = 1 + (stretchOf.at(-1) ?? 0)
  const rareRows = new Float64Array(stretches)
  const rareSampled = new Float64Array(stretches)
  const rareSeen = new Float64Array(stretches)
  let [known, seen] = [0, 0]
  for (let key = 0; key < sampled.length; key++) {
    if (common[key] === 1) known++
    else if (sampled[key]! > 0) {
      const stretch = stretchOf[key]!
      rareRows[stretch]! += rows[key]!
      rareSampled[stretch]! += sampled[key]!
      rareSeen[stretch]!++
      seen++
    }
  }
  const keysOfSeen = seen === 0 ? 0 : Math.max(1, (distinct - known) / seen)
  const rareKeys = rareSeen.map((each) => each * keysOfSeen)
  return { sampled, rows, common, rareRows, rareSampled, rareKeys }
}

function total(amounts: Float64Array): number {
  return amounts.reduce((sum, each) => sum + each, 0)
}
