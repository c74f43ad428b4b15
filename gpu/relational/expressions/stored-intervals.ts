import { type ColumnType, storageOf } from '../../../protocol/column-types.js'
import { valueWords } from '../query/query-column.js'
import { type FloatOrder, floatOrder } from './ordered-numbers.js'
import type { Interval } from './value-sets.js'

/** Values as kernels test them (`within.ts`): how far a value is from `lowest`, modulo 2^bits, decides. */
export interface StoredIntervals {
  readonly bits: 32 | 64
  readonly lowest: bigint
  /** Ascending, of distances from `lowest`. */
  readonly intervals: readonly Interval[]
}

/** Intervals of values in their order as intervals of what columns of a type hold. */
export function storedIntervals(intervals: readonly Interval[], type: ColumnType): StoredIntervals {
  const bits = valueWords(type) === 2 ? 64 : 32
  const floats = floatOrder(type)
  const placed =
    floats === undefined ? intervals : intervals.flatMap((interval) => placedFloats(interval, floats))
  const first = placed[0]?.low ?? 0n
  const storage = storageOf(type)
  const shift = storage === 'i32' || storage === 'i64' ? 1n << BigInt(bits - 1) : 0n
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
 * neighbours modulo the numbers that there are.
 */
function placedFloats(
  { low, high }: Interval,
  { minusInfinity, zero, infinity, notANumber }: FloatOrder,
): Interval[] {
  const from = low > infinity ? infinity + 1n : low === zero ? zero - 1n : max(low, minusInfinity)
  const lastNaN = notANumber + minusInfinity
  const to = high === notANumber ? lastNaN : high === zero - 1n ? zero - 2n : min(high, infinity)
  return from <= to ? [{ low: from, high: to }] : []
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
