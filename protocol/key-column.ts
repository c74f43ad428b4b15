import type { WireColumn, WireColumns } from './data-request.js'
import { badRequest, WarpdexError } from './errors.js'
import type { SectionType } from './frame.js'
import { LIMITS } from './limits.js'
import { type RowRules, requireOffsets } from './offsets.js'
import { type Rows, rowAt, rowCount } from './rows.js'
import { tupleFault } from './tuple-key.js'
import {
  type IndexDefinition,
  isFixedKeyType,
  isTupleKeyType,
  type KeyType,
  keyWidth,
  tupleParts,
} from './types.js'
import { areUtf8, isUtf8 } from './utf8.js'

/** Bytes of the sequence number that follows the key in a scan's token. */
export const SEQUENCE_BYTES = 4

/** The type of a column of keys as it travels: keys of variable length are bytes, cut by offsets. */
export function wireKeyType(type: KeyType): SectionType {
  return isFixedKeyType(type) ? type : 'bytes'
}

/**
 * A column of keys of the index, each as it must be: strings are UTF-8, tuples are whole.
 *
 * @throws WarpdexError `WRONG_KEY_TYPE` when the column's type is not that of the index's keys, `TOO_LARGE` over `batchItems` or
 * `keyBytes`, `BAD_REQUEST`
 */
export function requireKeys({ keys }: WireColumns, definition: IndexDefinition): Rows {
  if (keys === undefined) throw badRequest('a column "keys" is needed')
  const column = keyColumn(keys, definition, 'keys')
  checkKeys(column, definition.keyType)
  return column
}

/**
 * A column of ends of ranges. Those of variable length may be any bytes: there is one behind all keys with the same beginning.
 *
 * @throws WarpdexError as `requireKeys` does
 */
export function optionalEnds(
  columns: WireColumns,
  what: 'from' | 'to',
  definition: IndexDefinition,
): Rows | undefined {
  const ends = columns[what]
  return ends && keyColumn(ends, definition, what)
}

/**
 * Positions of a scan: keys, each with a sequence number behind it.
 *
 * @throws WarpdexError `BAD_REQUEST`, `TOO_LARGE`
 */
export function optionalTokens({ tokens }: WireColumns, { keyType }: IndexDefinition): Rows | undefined {
  const most = LIMITS.keyBytes + SEQUENCE_BYTES
  return tokens && cut(tokens, keyType, { column: 'tokens', row: 'token', least: SEQUENCE_BYTES, most })
}

function keyColumn(column: WireColumn, { name, keyType }: IndexDefinition, what: string): Rows {
  const type = wireKeyType(keyType)
  if (column.type !== type) {
    const right = type === keyType ? keyType : `${keyType}, which are sent as ${type}`
    const message = `column "${what}" is ${column.type}; the keys of index "${name}" are ${right}`
    throw new WarpdexError('WRONG_KEY_TYPE', message)
  }
  const rows = cut(column, keyType, { column: what, row: 'key', most: LIMITS.keyBytes })
  const count = rowCount(rows, keyWidth(keyType))
  if (!Number.isInteger(count)) throw badRequest(`column "${what}" is cut off within a key`)
  if (count > LIMITS.batchItems) {
    throw new WarpdexError('TOO_LARGE', `a request has ${count} ${what}; ${LIMITS.batchItems} are allowed`)
  }
  return rows
}

function cut({ bytes, offsets }: WireColumn, keyType: KeyType, rules: RowRules): Rows {
  if (isFixedKeyType(keyType)) {
    if (offsets === undefined) return { bytes }
    throw badRequest(`column "${rules.column}" takes no offsets: keys are of type ${keyType}`)
  }
  if (offsets === undefined) {
    throw badRequest(`column "${rules.column}" needs offsets: keys are of type ${keyType}`)
  }
  return { bytes, offsets: requireOffsets(bytes, offsets, rules) }
}

function checkKeys(column: Rows, keyType: KeyType): void {
  const { bytes, offsets } = column
  if (offsets === undefined || keyType === 'bytes') return
  if (keyType === 'string' && areUtf8(bytes, offsets)) return
  const parts = isTupleKeyType(keyType) ? tupleParts(keyType) : undefined
  const count = rowCount(column, undefined)
  for (let i = 0; i < count; i++) {
    const key = rowAt(column, undefined, i)
    const fault = parts === undefined ? textFault(key) : tupleFault(parts, key)
    if (fault !== undefined) throw badRequest(`key ${i} is no ${keyType}: ${fault}`)
  }
}

function textFault(key: Uint8Array): string | undefined {
  return isUtf8(key) ? undefined : 'its bytes are no UTF-8'
}
