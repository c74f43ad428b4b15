import { type ColumnType, keyTypeOfColumn, storageInRelation } from '../../../protocol/column-types.js'
import {
  asBytes,
  type Column,
  columnOf,
  concatenate,
  numberColumn,
  valueAt,
} from '../../../protocol/columns.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { LIMITS } from '../../../protocol/limits.js'
import { type ScalarKey, TupleEncoder } from '../../../protocol/tuple-key.js'
import { floatOrder, restoredNumber } from '../expressions/ordered-numbers.js'
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

/** Whether NaN is asked for, which no index has. */
export function asksForNaN({ type, set }: KeyCondition): boolean {
  const last = set.intervals.at(-1)
  const shape = floatOrder(type)
  return shape !== undefined && last !== undefined && last.high > shape.infinity
}

/**
 * The keys of an index that satisfy conditions on its leading columns. All conditions but the last one are on one value.
 * @param columns that the index has
 */
export function indexKeys(conditions: readonly KeyCondition[], columns: number): IndexKeys {
  const last = conditions.at(-1)!
  const isWhole = conditions.length === columns
  const leading = leadingScalars(conditions)
  // A value that no row has begins no key.
  const intervals =
    leading === undefined ? [] : last.set.intervals.flatMap((interval) => numbersOf(interval, last.type))
  const points = isWhole ? intervals.filter(({ low, high }) => low === high) : []
  const ranges = isWhole ? intervals.filter(({ low, high }) => low !== high) : intervals
  const encode = (numbers: readonly bigint[]) => {
    const keys = numbers.map((number) => [...(leading ?? []), scalarOf(last, number)])
    return columns === 1 ? singleKeys(last.type, keys.flat()) : tupleKeys(conditions, keys)
  }
  const to = encode(ranges.map(({ high }) => high))
  return {
    points: encode(points.map(({ low }) => low)),
    pointCount: points.length,
    from: encode(ranges.map(({ low }) => low)),
    to: isWhole ? to : columnOf(ranges.map((_, i) => behind(valueAt(to, i)))),
    rangeCount: ranges.length,
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
  const shape = floatOrder(type)
  if (shape === undefined) return [interval]
  const minusZero = shape.zero - 1n
  const [from, to] = [
    interval.low === minusZero ? minusZero + 1n : interval.low,
    interval.high === minusZero ? minusZero - 1n : interval.high,
  ]
  const low = from > shape.minusInfinity ? from : shape.minusInfinity
  const high = to < shape.infinity ? to : shape.infinity
  return low <= high ? [{ low, high }] : []
}

/** Keys of an index over one column. */
function singleKeys(type: ColumnType, scalars: readonly ScalarKey[]): Column {
  if (type === 'string') {
    const encoder = new TextEncoder()
    return columnOf(scalars.map((text) => encoder.encode(`${text}`)))
  }
  const keys = numberColumn(
    storageInRelation(type),
    scalars,
    () => new WarpdexError('INTERNAL', 'a key is of another type'),
  )
  return { bytes: asBytes(keys), width: keys.BYTES_PER_ELEMENT }
}

/** Tuples, or leading parts of them. */
function tupleKeys(conditions: readonly KeyCondition[], tuples: readonly (readonly ScalarKey[])[]): Column {
  const encoder = new TupleEncoder(conditions.map(({ type }) => keyTypeOfColumn(type)))
  for (const tuple of tuples) encoder.add(tuple)
  return encoder.column()
}

function scalarOf({ type, dictionary }: KeyCondition, number: bigint): ScalarKey {
  if (type === 'string') return dictionary?.at(Number(number)) ?? ''
  const value = restoredNumber(number, type)
  const storage = storageInRelation(type)
  return storage === 'u64' || storage === 'i64' ? BigInt(value) : Number(value)
}

/** What stands behind all keys that begin with these bytes, and before those that are greater. */
function behind(bytes: Uint8Array): Uint8Array {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0xff) end--
  if (end === 0) return new Uint8Array(LIMITS.keyBytes).fill(0xff)
  return concatenate([bytes.subarray(0, end - 1), Uint8Array.of(bytes[end - 1]! + 1)])
}
