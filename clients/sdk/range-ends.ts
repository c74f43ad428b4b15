import { badRequest } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { type Rows, rowAt, rowsOf } from '../../protocol/rows.js'
import { type IndexDefinition, isFixedKeyType, isTupleKeyType, tupleParts } from '../../protocol/types.js'
import { type AnyKey, type AnyKeys, endColumn } from './keys.js'

/** One range of keys as a caller gives it. */
export interface RangeInput {
  readonly from?: AnyKey | undefined
  readonly to?: AnyKey | undefined
  readonly prefix?: AnyKey | undefined
  readonly fromExclusive?: boolean | undefined
  readonly toExclusive?: boolean | undefined
}

/** One range as it is sent. */
export interface RangeEnds {
  readonly from: Rows | undefined
  readonly to: Rows | undefined
  readonly fromExclusive: boolean | undefined
  readonly toExclusive: boolean | undefined
}

/** Stands behind every tuple: none of them is as long and consists of such bytes only. */
const BEHIND_ALL = new Uint8Array(LIMITS.keyBytes).fill(0xff)

/** @throws WarpdexError `BAD_REQUEST`, `TOO_LARGE` */
export function rangeEnds(range: RangeInput, definition: IndexDefinition): RangeEnds {
  const { from, to, prefix, fromExclusive, toExclusive } = range
  if (prefix !== undefined) return prefixEnds(range, prefix, definition)
  return {
    from: from === undefined ? undefined : lowerEnds([from], fromExclusive, definition),
    to: to === undefined ? undefined : upperEnds([to], toExclusive, definition),
    fromExclusive,
    toExclusive,
  }
}

/** The smallest keys of ranges as a column. */
export function lowerEnds(keys: AnyKeys, exclusive: boolean | undefined, definition: IndexDefinition): Rows {
  const column = endColumn(keys, definition)
  return exclusive === true ? behindPartial(keys, column, definition) : column
}

/** The largest keys of ranges as a column. */
export function upperEnds(keys: AnyKeys, exclusive: boolean | undefined, definition: IndexDefinition): Rows {
  const column = endColumn(keys, definition)
  return exclusive === true ? column : behindPartial(keys, column, definition)
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
function behindPartial(keys: AnyKeys, column: Rows, { keyType }: IndexDefinition): Rows {
  if (!isTupleKeyType(keyType) || !Array.isArray(keys)) return column
  const parts = tupleParts(keyType).length
  const isPartial = (key: AnyKey) => Array.isArray(key) && key.length < parts
  if (!keys.some(isPartial)) return column
  const ends = keys.map((key: AnyKey, i) => {
    const end = rowAt(column, undefined, i)
    return isPartial(key) ? (successor(end) ?? BEHIND_ALL) : end
  })
  return rowsOf(ends)
}

function prefixEnds(range: RangeInput, prefix: AnyKey, definition: IndexDefinition): RangeEnds {
  const { name, keyType } = definition
  if (isFixedKeyType(keyType)) {
    const message = `keys of index "${name}" are ${keyType} and have no prefix; use from and to`
    throw badRequest(message)
  }
  const others = [range.from, range.to, range.fromExclusive, range.toExclusive]
  if (others.some((other) => other !== undefined)) {
    throw badRequest('a scan has a prefix, or from and to, not both')
  }
  const from = endColumn([prefix], definition)
  const end = successor(from.bytes)
  return { from, to: end && rowsOf([end]), fromExclusive: false, toExclusive: true }
}
