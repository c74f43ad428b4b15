import { type Column, columnOf, countOf, pickValues, sliceColumn, valueAt } from '../../protocol/columns.js'
import { type WireColumns, wireColumn } from '../../protocol/data-request.js'
import { badRequest } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { type IndexDefinition, isFixedKeyType, isTupleKeyType, tupleParts } from '../../protocol/types.js'
import type { Bounds } from './call-options.js'
import type { IndexCalls, KnownIndex } from './index-calls.js'
import { type AnyKey, type AnyKeys, keyColumn, wireKeys } from './keys.js'
import { askInParts, type Cutter } from './parts.js'
import type { Part } from './reply.js'

/** How entries of ranges are gone through, and whether their ends belong to them. */
interface RangeOrder {
  readonly reverse?: boolean | undefined
  readonly fromExclusive?: boolean | undefined
  readonly toExclusive?: boolean | undefined
}

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

/** Ranges of keys as columns with one row a range; an absent one leaves that end open. */
export interface Ranges extends RangeOrder {
  readonly count: number
  /** Entries at most of each. */
  readonly limit: number
  readonly from: Column | undefined
  readonly to: Column | undefined
  /** Where to continue; absent at the start. */
  readonly tokens?: Column | undefined
}

/** @throws WarpdexError `BAD_REQUEST` for ends of different numbers, `WRONG_KEY_TYPE` */
export function rangesOf(ranges: RangesInput, limit: number, definition: IndexDefinition): Ranges {
  const { reverse, fromExclusive, toExclusive } = ranges
  const from = ranges.from === undefined ? undefined : ends(ranges.from, fromExclusive === true, definition)
  const to = ranges.to === undefined ? undefined : ends(ranges.to, toExclusive !== true, definition)
  const counted = from ?? to
  const count = counted === undefined ? 1 : countOf(counted)
  if (to !== undefined && countOf(to) !== count) {
    throw badRequest(`${count} from keys came with ${countOf(to)} to keys; a range has one of each`)
  }
  return { count, limit, from, to, reverse, fromExclusive, toExclusive }
}

/**
 * One range.
 * @throws WarpdexError `BAD_REQUEST`, `TOO_LARGE`
 */
export function rangeOf(range: RangeInput, limit: number, definition: IndexDefinition): Ranges {
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
    throw badRequest('a scan has a prefix, or from and to, not both')
  }
  const whole = rangesOf({ from: [prefix], reverse: range.reverse }, limit, definition)
  const end = whole.from && successor(whole.from.bytes)
  return { ...whole, to: end && columnOf([end]), fromExclusive: false, toExclusive: true }
}

/** The ranges with these numbers. */
export function pickRanges(ranges: Ranges, numbers: Uint32Array): Ranges {
  return mapColumns(ranges, numbers.length, (column) => pickValues(column, numbers))
}

/**
 * Asks for entries of ranges, in as many requests as it takes. Where the entries would be too large for a frame, the ranges are asked for in
 * halves, and a single one with half the limit.
 */
export function askForRanges(
  calls: IndexCalls,
  known: KnownIndex,
  ranges: Ranges,
  bounds: Bounds,
): Promise<readonly Part[]> {
  const ask = (part: Ranges) => {
    const { count, limit, reverse, fromExclusive, toExclusive } = part
    const columns = scanColumns(part, known)
    const call = { op: 'scan', count, limit, reverse, fromExclusive, toExclusive, columns } as const
    const request = () => calls.request(known, call, bounds)
    return part.tokens === undefined ? request() : calls.goOn(known, request)
  }
  return askInParts(ranges, RANGE_PARTS, ask, (parts) => parts)
}

const RANGE_PARTS: Cutter<Ranges> = {
  fitting: (ranges) => {
    const most = Math.floor(LIMITS.scanEntries / ranges.limit)
    return ranges.count > most ? cutRanges(ranges, most) : undefined
  },
  smaller: (ranges) => {
    const { count, limit } = ranges
    if (count > 1) return cutRanges(ranges, Math.ceil(count / 2))
    return limit > 1 ? [{ ...ranges, limit: limit >> 1 }] : undefined
  },
}

function cutRanges(ranges: Ranges, size: number): Ranges[] {
  return Array.from({ length: Math.ceil(ranges.count / size) }, (_, i) => {
    const start = i * size
    const end = Math.min(start + size, ranges.count)
    return mapColumns(ranges, end - start, (column) => sliceColumn(column, start, end))
  })
}

function mapColumns(ranges: Ranges, count: number, map: (column: Column) => Column): Ranges {
  const { from, to, tokens } = ranges
  return { ...ranges, count, from: from && map(from), to: to && map(to), tokens: tokens && map(tokens) }
}

function scanColumns({ from, to, tokens }: Ranges, definition: IndexDefinition): WireColumns {
  return {
    from: from && wireKeys(from, definition),
    to: to && wireKeys(to, definition),
    tokens: tokens && wireColumn('bytes', tokens.bytes, tokens.offsets),
  }
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
