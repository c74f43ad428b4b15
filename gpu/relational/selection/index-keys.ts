import { type Column, columnOf, concatenate, valueAt } from '../../../protocol/columns.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { ColumnType } from '../../../protocol/relation.js'
import { type ScalarKey, TupleEncoder } from '../../../protocol/tuple-key.js'
import type { StringDictionary } from '../string-dictionary.js'
import type { Interval, ValueSet } from './selection-types.js'

/** Which values of a column of an index are asked for; null is in no index. */
export interface KeyCondition {
  readonly type: ColumnType
  readonly dictionary: StringDictionary | undefined
  readonly set: ValueSet
}

/** What is asked of an index, as on the wire. */
export interface IndexKeys {
  /** Keys, each once. */
  readonly points: Column
  readonly pointCount: number
  /** Ranges that do not meet each other or a point; what is at their ends belongs to them. */
  readonly from: Column
  readonly to: Column
  readonly rangeCount: number
}

const SIGN = 2n ** 31n
/** Ordered forms of floats: of −∞ and +∞, below and above which there is no other number, and what −0 would have. */
const MINUS_ZERO = 0x7fffffffn
const INFINITIES: Interval = { low: 0x007fffffn, high: 0xff800000n }

/** Whether NaN is asked for, which no index has. */
export function asksForNaN({ type, set }: KeyCondition): boolean {
  const last = set.intervals.at(-1)
  return type === 'f32' && last !== undefined && last.high > INFINITIES.high
}

/**
 * The keys of an index that satisfy conditions on its leading columns. All conditions but the last one are on one value.
 * @param columns that the index has
 */
export function indexKeys(conditions: readonly KeyCondition[], columns: number): IndexKeys {
  const last = conditions.at(-1)!
  const intervals = last.set.intervals.flatMap((interval) => numbersOf(interval, last.type))
  const isWhole = conditions.length === columns
  const points = isWhole ? intervals.filter(({ low, high }) => low === high) : []
  const ranges = isWhole ? intervals.filter(({ low, high }) => low !== high) : intervals
  if (columns === 1) {
    const encode = (numbers: readonly bigint[]) => singleKeys(last, numbers)
    return {
      points: encode(points.map(({ low }) => low)),
      pointCount: points.length,
      from: encode(ranges.map(({ low }) => low)),
      to: encode(ranges.map(({ high }) => high)),
      rangeCount: ranges.length,
    }
  }
  // A value that no row has begins no key.
  const leading = leadingScalars(conditions)
  const tuples = (numbers: readonly bigint[]) => tupleKeys(conditions, leading ?? [], numbers)
  const [asked, spans] = leading === undefined ? [[], []] : [points, ranges]
  const to = tuples(spans.map(({ high }) => high))
  return {
    points: tuples(asked.map(({ low }) => low)),
    pointCount: asked.length,
    from: tuples(spans.map(({ low }) => low)),
    to: isWhole ? to : columnOf(spans.map((_, i) => behind(valueAt(to, i)))),
    rangeCount: spans.length,
  }
}

/** The values that all conditions but the last one are on; undefined where one of them stands for no value. */
function leadingScalars(conditions: readonly KeyCondition[]): readonly ScalarKey[] | undefined {
  const scalars = conditions.slice(0, -1).flatMap((condition) => {
    const [value] = condition.set.intervals.flatMap((interval) => numbersOf(interval, condition.type))
    return value === undefined ? [] : [scalarOf(condition, value.low)]
  })
  return scalars.length === conditions.length - 1 ? scalars : undefined
}

/** Of floats what is between the infinities; what would be −0, which is 0, stands for nothing. */
function numbersOf(interval: Interval, type: ColumnType): readonly Interval[] {
  if (type !== 'f32') return [interval]
  const [from, to] = [
    interval.low === MINUS_ZERO ? MINUS_ZERO + 1n : interval.low,
    interval.high === MINUS_ZERO ? MINUS_ZERO - 1n : interval.high,
  ]
  const low = from > INFINITIES.low ? from : INFINITIES.low
  const high = to < INFINITIES.high ? to : INFINITIES.high
  return low <= high ? [{ low, high }] : []
}

/** Keys of an index over one column. */
function singleKeys({ type, dictionary }: KeyCondition, numbers: readonly bigint[]): Column {
  if (type === 'string') {
    const encoder = new TextEncoder()
    return columnOf(numbers.map((number) => encoder.encode(dictionary?.at(Number(number)) ?? '')))
  }
  const width = type === 'u64' || type === 'i64' ? 8 : 4
  const bytes = new Uint8Array(numbers.length * width)
  const view = new DataView(bytes.buffer)
  numbers.forEach((number, i) => {
    if (width === 8) view.setBigUint64(i * 8, type === 'i64' ? number ^ (SIGN << 32n) : number, true)
    else view.setUint32(i * 4, Number(wireWord(number, type)), true)
  })
  return { bytes, width }
}

function wireWord(number: bigint, type: ColumnType): bigint {
  if (type === 'u32') return number
  if (type === 'i32' || number >= SIGN) return number ^ SIGN
  return number ^ 0xffffffffn
}

/** Leading parts of tuples: these values, and of the last condition's column these numbers. */
function tupleKeys(
  conditions: readonly KeyCondition[],
  leading: readonly ScalarKey[],
  numbers: readonly bigint[],
): Column {
  const encoder = new TupleEncoder(conditions.map(({ type }) => type))
  for (const number of numbers) encoder.add([...leading, scalarOf(conditions.at(-1)!, number)])
  return encoder.column()
}

function scalarOf({ type, dictionary }: KeyCondition, number: bigint): ScalarKey {
  switch (type) {
    case 'string':
      return dictionary?.at(Number(number)) ?? ''
    case 'f32':
      return new Float32Array(Uint32Array.of(Number(wireWord(number, type))).buffer)[0]!
    case 'u32':
      return Number(number)
    case 'i32':
      return Number(number) - Number(SIGN)
    case 'u64':
      return number
    case 'i64':
      return number - (SIGN << 32n)
  }
}

/** What stands behind all keys that begin with these bytes, and before those that are greater. */
function behind(bytes: Uint8Array): Uint8Array {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0xff) end--
  if (end === 0) return new Uint8Array(LIMITS.keyBytes).fill(0xff)
  return concatenate([bytes.subarray(0, end - 1), Uint8Array.of(bytes[end - 1]! + 1)])
}
