import { isComplete, type Source, scaleOf, sumOf } from './node-estimate.js'
import { type KeyTally, type SharedKeys, tallyOf } from './sample-keys.js'

/** Rows of a sample that must have a key for the sample to say how often it comes. */
export const COMMON_ROWS = 4
/** What is expected of pairs of equal keys in two samples counts as so many that were seen. */
const PRIOR_PAIRS = 4
/** The chance at most that a row matches something whose key the other side's sample does not have. */
const UNSEEN_CHANCE = 0.95

/** What each row of a side's sample finds on the other side: how many rows, and the chance of one at least. */
export interface ExpectedMatches {
  readonly matches: Float64Array
  readonly chance: Float64Array
}

/** How two sides match. */
export interface SampleMatches {
  readonly pairs: number
  readonly left: ExpectedMatches
  readonly right: ExpectedMatches
}

/** One side of a match by equal keys. */
export interface KeySide {
  readonly source: Source
  /** Different keys among the rows that there are. */
  readonly distinct: number
}

/** What is known of the keys of a side. */
interface KnownKeys extends KeyTally {
  /** By key: whether that is all of them, as far as can be told. */
  readonly isCommon: readonly boolean[]
  /** Of all keys that are not common. */
  readonly rare: { readonly sampled: number; readonly rows: number; readonly keys: number }
}

/**
 * Estimates how two sides match by equal keys. Keys that are common in a sample are taken as they are there. Of all others it is thought that each comes
 * as often as the others, and that the side with fewer different keys has them all from the other's (Selinger et al. 1979). How many pairs of
 * equal keys the two samples have corrects that.
 */
export function matchKeys(left: KeySide, right: KeySide, keys: SharedKeys): SampleMatches {
  const [l, r] = [knownKeys(left, keys.left, keys.count), knownKeys(right, keys.right, keys.count)]
  const common = l.isCommon.filter((isCommon, key) => isCommon && r.isCommon[key]).length
  const equal = 1 / Math.max(1, left.distinct - common, right.distinct - common)
  const known = sumOf(l.sampled.map((rows, key) => (isBoth(l, r, key) ? rows * r.sampled[key]! : 0)))
  const seen = sumOf(l.sampled.map((rows, key) => rows * r.sampled[key]!)) - known
  const foreseen = pairsOf('sampled', l, r, equal) - known
  const corrected = (equal * (PRIOR_PAIRS + seen)) / (PRIOR_PAIRS + foreseen)
  return {
    pairs: pairsOf('rows', l, r, corrected),
    left: rowMatches(keys.left, r, corrected),
    right: rowMatches(keys.right, l, corrected),
  }
}

function knownKeys({ source, distinct }: KeySide, keys: Int32Array, count: number): KnownKeys {
  const { sampled: seenRows, rows } = tallyOf({ keys, count }, source)
  const scale = scaleOf(source)
  // A row of which some are not there counts as less than one.
  const sampled = seenRows.map((seen, key) => (seen === 0 ? 0 : Math.min(seen, rows[key]! / scale)))
  const least = isComplete(source) ? Number.MIN_VALUE : COMMON_ROWS
  const isCommon = Array.from(sampled, (rows) => rows >= least)
  const rareOf = (amounts: Float64Array) => sumOf(amounts.filter((_, key) => !isCommon[key]))
  const [common, seen] = [isCommon.filter(Boolean).length, sampled.filter((rows) => rows > 0).length]
  const rareKeys = seen === common ? 0 : Math.max(seen, distinct) - common
  return { sampled, rows, isCommon, rare: { sampled: rareOf(sampled), rows: rareOf(rows), keys: rareKeys } }
}

function isBoth(left: KnownKeys, right: KnownKeys, key: number): boolean {
  return left.isCommon[key]! && right.isCommon[key]!
}

/**
 * Pairs of rows of equal keys.
 * @param equal the chance that a key of one side, neither of which knows it to be common in both, is a given key of the other
 */
function pairsOf(of: 'sampled' | 'rows', left: KnownKeys, right: KnownKeys, equal: number): number {
  const amount = (side: KnownKeys, key: number) =>
    side.isCommon[key] ? side[of][key]! : equal * side.rare[of]
  const common = left[of].map((_, key) => {
    return left.isCommon[key] || right.isCommon[key] ? amount(left, key) * amount(right, key) : 0
  })
  return sumOf(common) + equal * left.rare[of] * right.rare[of]
}

/** What each row of a side finds on the other. */
function rowMatches(
  keys: Int32Array,
  { sampled, rows, isCommon, rare }: KnownKeys,
  equal: number,
): ExpectedMatches {
  const each = (amount: (key: number) => number) =>
    Float64Array.from(keys, (key) => (key < 0 ? 0 : amount(key)))
  return {
    matches: each((key) => (isCommon[key] ? rows[key]! : equal * rare.rows)),
    chance: each((key) =>
      Math.max(Math.min(1, sampled[key]!), Math.min(UNSEEN_CHANCE, isCommon[key] ? 1 : equal * rare.keys)),
    ),
  }
}
