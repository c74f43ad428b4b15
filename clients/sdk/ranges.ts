import { type Column, columnOf, countOf, valueAt } from '../../protocol/columns.js'
import { badRequest } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { type IndexDefinition, isFixedKeyType, isTupleKeyType, tupleParts } from '../../protocol/types.js'
import { FLAG, type Kinds } from './call-options.js'
import type { DataCall } from './data-call.js'
import { type AnyKey, type AnyKeys, keyColumn } from './keys.js'

/** How entries of ranges are gone through, and whether their ends belong to them. */
export interface RangeOrder {
  readonly fromExclusive?: boolean | undefined
  readonly toExclusive?: boolean | undefined
  /** From the largest key down, and within a key from the last payload to the first. */
  readonly reverse?: boolean | undefined
}

export const RANGE_ORDER: Kinds<RangeOrder> = { fromExclusive: FLAG, toExclusive: FLAG, reverse: FLAG }

/** Ranges as a caller gives them. */
interface RangesInput extends RangeOrder {
  readonly from?: AnyKeys | undefined
  readonly to?: AnyKeys | undefined
}

/** One range of keys as a caller gives it. */
interface RangeInput extends RangeOrder {
  readonly from?: AnyKey | undefined
  readonly to?: AnyKey | undefined
  readonly prefix?: AnyKey | undefined
}

/**
 * Asks for entries of ranges. The columns, with one row a range, are the keys `from` and `to`, of which an absent one leaves that end open, and
 * `tokens`, where to continue.
 */
export type ScanCall = DataCall<'scan'>

/** @throws WarpdexError `BAD_REQUEST` for ends of different numbers, `WRONG_KEY_TYPE` */
export function rangesOf(ranges: RangesInput, limit: number, definition: IndexDefinition): ScanCall {
  const { reverse, fromExclusive, toExclusive } = ranges
  const from = ranges.from === undefined ? undefined : ends(ranges.from, fromExclusive === true, definition)
  const to = ranges.to === undefined ? undefined : ends(ranges.to, toExclusive !== true, definition)
  const counted = from ?? to
  const count = counted === undefined ? 1 : countOf(counted)
  if (to !== undefined && countOf(to) !== count) {
    throw badRequest(`${count} from keys came with ${countOf(to)} to keys; a range has one of each`)
  }
  const columns = { from, to }
  return { op: 'scan', count, limit, reverse, fromExclusive, toExclusive, columns }
}

/**
 * One range.
 * @throws WarpdexError `BAD_REQUEST`, `TOO_LARGE`
 */
export function rangeOf(range: RangeInput, limit: number, definition: IndexDefinition): ScanCall {
  const { from, to, prefix, ...order } = range
  if (prefix === undefined) {
    const list = (end: AnyKey | undefined) => (end === undefined ? undefined : [end])
    return rangesOf({ ...order, from: list(from), to: list(to) }, limit, definition)
  }
  const { name, keyType } = definition
  if (isFixedKeyType(keyType)) {
    throw badRequest(`keys of index "${name}" are ${keyType} and have no prefix; use from and to`)
  }
  const others = [from, to, range.fromExclusive, range.toExclusive]
  if (others.some((other) => other !== undefined)) {
    throw badRequest('a range has a prefix, or from and to, not both')
  }
  const whole = rangesOf({ from: [prefix], reverse: range.reverse }, limit, definition)
  const first = whole.columns.from
  const end = first && successor(first.bytes)
  const columns = { from: first, to: end && columnOf([end]) }
  return { ...whole, fromExclusive: false, toExclusive: true, columns }
}

/** Stands behind every tuple: none of them is as long and consists of such bytes only. */
const BEHIND_ALL = new Uint8Array(LIMITS.keyBytes).fill(0xff)

/** Ends of ranges as a column; `behind` all keys that begin with them, where they are leading parts of tuples. */
function ends(keys: AnyKeys, behind: boolean, definition: IndexDefinition): Column {
  const column = keyColumn(keys, definition, true)
  return behind ? behindPartial(keys, column, definition) : column
}

/** The first bytes behind all that begin with the prefix, or undefined where there are none. */
function successor(prefix: Uint8Array): Uint8Array | undefined {
  const last = prefix.findLastIndex((byte) => byte !== 0xff)
  if (last < 0) return undefined
  // Not `slice`, which for a Buffer shares its memory.
  const next = new Uint8Array(prefix.subarray(0, last + 1))
  next[last]++
  return next
}

/**
 * The ends, with leading parts of tuples put behind all tuples that begin with them; as they are encoded they stand before
 * these. No tuple is equal to such an end, so it does not matter whether it is excluded.
 */
function behindPartial(keys: AnyKeys, column: Column, { keyType }: IndexDefinition): Column {
  if (!isTupleKeyType(keyType) || !Array.isArray(keys)) return column
  const parts = tupleParts(keyType).length
  const isPartial = (key: AnyKey) => Array.isArray(key) && key.length < parts
  if (!keys.some(isPartial)) return column
  const ends = keys.map((key: AnyKey, i) => {
    const end = valueAt(column, i)
    return isPartial(key) ? (successor(end) ?? BEHIND_ALL) : end
  })
  return columnOf(ends)
}
