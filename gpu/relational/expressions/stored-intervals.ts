import type { ValueType } from '../../../protocol/query/tree.js'
import { valueWords } from '../query/query-column.js'
import type { Interval } from './value-sets.js'

/** Values as kernels test them (`within.ts`): how far a value is from `lowest`, modulo 2^bits, decides. */
export interface StoredIntervals {
  readonly bits: 32 | 64
  readonly lowest: bigint
  /** Ascending, of distances from `lowest`. */
  readonly intervals: readonly Interval[]
}

const WORD = 1n << 32n
const SIGN = 1n << 31n

/** Ordered forms of the infinities, and of the NaN that stands for all. */
const MINUS_INFINITY = 0x007fffffn
const INFINITY = 0xff800000n
const NAN = 0xffffffffn

/** Intervals of values in their order as intervals of what columns of a type hold. */
export function storedIntervals(intervals: readonly Interval[], type: ValueType): StoredIntervals {
  const bits = valueWords(type) === 2 ? 64 : 32
  const placed = type === 'f32' ? intervals.flatMap(ofFloats) : intervals
  const first = placed[0]?.low ?? 0n
  const shift = type === 'i32' || type === 'i64' ? 1n << BigInt(bits - 1) : 0n
  return {
    bits,
    lowest: BigInt.asUintN(bits, first - shift),
    intervals: placed.map(({ low, high }) => ({ low: low - first, high: high - first })),
  }
}

/** Whether these are all values. */
export function isEverything({ bits, intervals }: StoredIntervals): boolean {
  const [first] = intervals
  return intervals.length === 1 && first!.high - first!.low === (1n << BigInt(bits)) - 1n
}

/**
 * The same interval where -0 lies below 0, and the NaNs of the one sign above all numbers, those of the other below: they are
 * neighbours modulo 2^32.
 */
function ofFloats({ low, high }: Interval): Interval[] {
  const from = low > INFINITY ? INFINITY + 1n : low === SIGN ? SIGN - 1n : max(low, MINUS_INFINITY)
  const to = high === NAN ? WORD + MINUS_INFINITY - 1n : high === SIGN - 1n ? SIGN - 2n : min(high, INFINITY)
  return from <= to ? [{ low: from, high: to }] : []
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
