import { aligned, type Column, countOf, valueAt } from './columns.js'
import { type DataRequest, OPERATIONS, type WireColumn, type WireColumns } from './data-request.js'
import { badRequest, WarpdexError } from './errors.js'
import { LIMITS } from './limits.js'
import { tupleFault } from './tuple-key.js'
import {
  Condition,
  type IndexDefinition,
  isTupleKeyType,
  type KeyType,
  keyWidth,
  MODE_OPS,
  payloadBytes,
  SEQUENCE_BYTES,
  tokenWidth,
  tupleParts,
  WriteOp,
  wireKeyType,
} from './types.js'
import { areUtf8, isUtf8 } from './utf8.js'

/** Items of a write batch, checked against their index. */
export interface WriteColumns {
  /** One kind for all items, or one byte an item. */
  readonly ops: WriteOp | Uint8Array
  /** Whoever gives a checksum of a column answers for it, since it is logged as it is, and a wrong one makes a log unreadable. */
  readonly keys: Column
  /** One an item; not needed where every item is deleteKey. */
  readonly payloads?: Column | undefined
}

/** What each of some keys must be like. */
export interface Conditions {
  /** A `Condition` each. */
  readonly kinds: Uint8Array
  /** One each, of which those count that conditions of their kind have. */
  readonly payloads: Column | undefined
  readonly sequences: Column | undefined
}

/** When items of a write expire. */
export interface Expiries {
  /** Milliseconds since 1970, u64, 0 for never, or `BY_TTL`: one an item, or one for all. */
  readonly times: Uint8Array
  /** The earliest that is known; infinite where there is none. */
  readonly first: number
  /** Whether there may be any `BY_TTL` among them. */
  readonly byTtl?: boolean | undefined
}

/** Items of a write batch, and when they expire where the write says so. */
export interface TimedColumns extends WriteColumns {
  readonly expireAt?: Expiries | undefined
}

/** Ranges, checked against their index; an absent column leaves that end of every range open. */
export interface RangeColumns {
  readonly ranges: number
  readonly from: Column | undefined
  readonly to: Column | undefined
  /** Only of scans. */
  readonly tokens: Column | undefined
}

/** Positions of a scan: keys, each with a sequence number behind it. */
const TOKEN_RULES = {
  column: 'tokens',
  row: 'token',
  least: SEQUENCE_BYTES,
  most: LIMITS.keyBytes + SEQUENCE_BYTES,
} as const
const PAYLOAD_RULES = { column: 'payloads', row: 'payload', most: LIMITS.payloadBytes } as const

/**
 * A column of payloads of the index, one for each of `count` items.
 *
 * @throws WarpdexError `BAD_REQUEST`, or `TOO_LARGE` for a payload of kind `bytes` over `payloadBytes`
 */
function requirePayloads(
  { bytes, offsets, checksum }: WireColumn,
  { name, payloadKind }: IndexDefinition,
  count: number,
): Column {
  const width = payloadBytes(payloadKind)
  if (width !== undefined) {
    if (offsets !== undefined)
      throw badRequest(`index "${name}" has ${payloadKind} payloads, which take no offsets`)
    requireLength(bytes, 'payloads', count * width, `${count} payloads of ${payloadKind}`)
    return { bytes, width, checksum }
  }
  if (offsets === undefined)
    throw badRequest(`index "${name}" has payloads of kind bytes, which need offsets`)
  const cuts = requireOffsets(bytes, offsets, PAYLOAD_RULES)
  if (cuts.length === count + 1) return { bytes, offsets: cuts, checksum }
  throw badRequest(`column "payloads" has ${cuts.length - 1} rows; ${count} are needed, one an item`)
}

/** Each word of `BY_TTL`. */
const ALL_ONES = 0xffffffff

/** @throws WarpdexError `BAD_REQUEST`, also for an index that was not made for that */
function requireExpiries({ bytes }: WireColumn, definition: IndexDefinition, count: number): Expiries {
  requireTtl(definition)
  if (bytes.byteLength !== 8)
    requireLength(bytes, 'expireAt', 8 * count, `${count} u64 times, or one for all`)
  const words = aligned(bytes, Uint32Array)
  let first = Number.POSITIVE_INFINITY
  let byTtl = false
  for (let i = 0; i < words.length; i += 2) {
    if (words[i] === ALL_ONES && words[i + 1] === ALL_ONES) {
      byTtl = true
      continue
    }
    const time = words[i] + words[i + 1] * 2 ** 32
    if (time > Number.MAX_SAFE_INTEGER)
      throw badRequest(`the time at which item ${i / 2} expires must be below 2^53`)
    if (time > 0 && time < first) first = time
  }
  return { times: bytes, first, byTtl }
}

function requireTtl({ name, ttl }: IndexDefinition): void {
  if (ttl !== undefined) return
  throw badRequest(
    `entries of index "${name}" do not expire; create it with a ttl, 0 where only some entries expire`,
  )
}

/** The keys of a request, as many as its head says. */
export function requestKeys(request: DataRequest, definition: IndexDefinition): Column {
  const keys = requireKeys(request.columns, definition)
  requireCount(request, countOf(keys))
  return keys
}

/** The columns of any write. */
export function writeColumns(request: DataRequest, definition: IndexDefinition): TimedColumns {
  const { op, columns, count } = request
  const keys = requestKeys(request, definition)
  const payloads = columns.payloads && requirePayloads(columns.payloads, definition, count)
  const expireAt = columns.expireAt && requireExpiries(columns.expireAt, definition, count)
  const items = { keys, payloads, expireAt }
  if (columns.ops !== undefined)
    return { ops: requireOps(columns.ops, count, payloads !== undefined), ...items }
  if (op === 'delete') {
    return { ops: payloads === undefined ? WriteOp.deleteKey : WriteOp.deletePair, ...items }
  }
  return { ops: MODE_OPS[request.mode ?? 'append'], ...items }
}

/**
 * The columns of a scan.
 *
 * @throws WarpdexError `TOO_LARGE` when the ranges' limits add up to more than `scanEntries`
 */
export function scanColumns(request: DataRequest, definition: IndexDefinition): RangeColumns {
  const { limit = 0 } = request
  if (limit < 1 || limit > LIMITS.scanEntries) {
    throw badRequest(`scan takes a limit from 1 to ${LIMITS.scanEntries}, not ${limit}`)
  }
  if (request.withExpireAt === true) requireTtl(definition)
  const columns = rangeColumns(request, definition)
  const { ranges } = columns
  if (ranges * limit > LIMITS.scanEntries) {
    throw new WarpdexError(
      'TOO_LARGE',
      `${ranges} ranges of ${limit} entries are more than ${LIMITS.scanEntries}; lower the limit and continue by tokens`,
    )
  }
  return columns
}

/** The ranges of a request: all columns that are there must have one entry a range. */
export function rangeColumns(request: DataRequest, definition: IndexDefinition): RangeColumns {
  const { columns } = request
  const from = columns.from && keyColumn(columns.from, definition, 'from')
  const to = columns.to && keyColumn(columns.to, definition, 'to')
  const tokens =
    columns.tokens && cut(columns.tokens, tokenWidth(definition.keyType), definition.keyType, TOKEN_RULES)
  const ends = from ?? to
  const ranges = ends ? countOf(ends) : tokens ? Math.floor(countOf(tokens)) : 1
  requireRows(to, 'to', ranges)
  requireRows(tokens, 'tokens', ranges)
  requireCount(request, ranges)
  return { ranges, from, to, tokens }
}

/** The columns of getNext: keys, and where given a sequence number for each. */
export function getNextColumns(
  request: DataRequest,
  definition: IndexDefinition,
): { readonly keys: Column; readonly sequences: Column | undefined } {
  return { keys: requestKeys(request, definition), sequences: sequencesOf(request) }
}

/** The columns of expect: a kind of condition for each key, and where any needs it a payload or a sequence number for each. */
export function expectColumns(
  request: DataRequest,
  definition: IndexDefinition,
): { readonly keys: Column; readonly conditions: Conditions } {
  const keys = requestKeys(request, definition)
  const { count, columns } = request
  const kinds = columns.conditions?.bytes ?? new Uint8Array(0)
  requireLength(kinds, 'conditions', count, `${count} u8 kinds of conditions`)
  const payloads = columns.payloads && requirePayloads(columns.payloads, definition, count)
  const sequences = sequencesOf(request)
  for (const kind of kinds) {
    if (kind > Condition.sequence)
      throw badRequest(`${kind} is not a kind of condition; they are 0 to ${Condition.sequence}`)
    if (kind === Condition.payload && payloads === undefined)
      throw badRequest('a condition on a payload needs a column "payloads"')
    if (kind === Condition.sequence && sequences === undefined)
      throw badRequest('a condition on a sequence number needs a column "sequences"')
  }
  return { keys, conditions: { kinds, payloads, sequences } }
}

/** One sequence number a key. */
function sequencesOf({ columns, count }: DataRequest): Column | undefined {
  const bytes = columns.sequences?.bytes
  if (bytes === undefined) return undefined
  requireLength(bytes, 'sequences', count * SEQUENCE_BYTES, `${count} u32 sequence numbers`)
  return { bytes, width: SEQUENCE_BYTES }
}

/** The keys whose search is to be explained, one at least. */
export function explainColumns(request: DataRequest, definition: IndexDefinition): Column {
  if (request.count > 0) return requestKeys(request, definition)
  throw badRequest('explain needs at least one key; send those of the get to explain')
}

/** The head counts what the columns have. */
function requireCount({ op, count }: DataRequest, found: number): void {
  if (found === count) return
  const rows = OPERATIONS[op].may.includes('from') ? 'ranges' : 'keys'
  throw badRequest(`${op} says that it has ${count} ${rows}; its columns have ${found}`)
}

/** @returns one for all where they store in the same way: a batch of one kind takes a shorter way */
function requireOps({ bytes }: WireColumn, count: number, withPayloads: boolean): Uint8Array | WriteOp {
  requireLength(bytes, 'ops', count, `${count} u8 kinds of write`)
  for (const op of bytes) {
    if (op > WriteOp.deletePair)
      throw badRequest(`${op} is not a kind of write; they are 0 to ${WriteOp.deletePair}`)
    if (!withPayloads && op !== WriteOp.deleteKey)
      throw badRequest('a write needs a column "payloads" unless all of it is deleteKey')
  }
  const common = STORING.find((op) => op === bytes[0])
  return common !== undefined && bytes.every((op) => op === common) ? common : bytes
}

const STORING = [WriteOp.insert, WriteOp.insertIfAbsent, WriteOp.replace]

/** One row a range. */
function requireRows(rows: Column | undefined, name: string, ranges: number): void {
  if (rows === undefined || countOf(rows) === ranges) return
  const { width } = rows
  if (width === undefined) {
    throw badRequest(`column "${name}" has ${countOf(rows)} rows; ${ranges} are needed, one a range`)
  }
  const { byteLength } = rows.bytes
  throw badRequest(`column "${name}" has ${byteLength} bytes; ${ranges * width} are needed, ${width} a range`)
}

function requireLength({ byteLength }: Uint8Array, name: string, length: number, meaning: string): void {
  if (byteLength !== length) {
    throw badRequest(`column "${name}" has ${byteLength} bytes; ${length} are needed, ${meaning}`)
  }
}

/**
 * A column of keys of the index, each as it must be: strings are UTF-8, tuples are whole.
 *
 * @throws WarpdexError `WRONG_KEY_TYPE` when the column's type is not that of the index's keys, `TOO_LARGE` over `batchItems` or
 * `keyBytes`, `BAD_REQUEST`
 */
export function requireKeys({ keys }: WireColumns, definition: IndexDefinition): Column {
  if (keys === undefined) throw badRequest('a column "keys" is needed')
  const column = keyColumn(keys, definition, 'keys')
  checkKeys(column, definition.keyType)
  return column
}

/** A column of keys, or of ends of ranges: those of variable length may be any bytes, as there is one behind all keys with the same beginning. */
function keyColumn(column: WireColumn, { name, keyType }: IndexDefinition, what: string): Column {
  const type = wireKeyType(keyType)
  if (column.type !== type) {
    const right = type === keyType ? keyType : `${keyType}, which are sent as ${type}`
    const message = `column "${what}" is ${column.type}; the keys of index "${name}" are ${right}`
    throw new WarpdexError('WRONG_KEY_TYPE', message)
  }
  const rows = cut(column, keyWidth(keyType), keyType, { column: what, row: 'key', most: LIMITS.keyBytes })
  const count = countOf(rows)
  if (!Number.isInteger(count)) throw badRequest(`column "${what}" is cut off within a key`)
  if (count > LIMITS.batchItems) {
    throw new WarpdexError('TOO_LARGE', `a request has ${count} ${what}; ${LIMITS.batchItems} are allowed`)
  }
  return rows
}

/** @param width of keys of that type, or of what they are part of */
function cut(
  { bytes, offsets, checksum }: WireColumn,
  width: number | undefined,
  keyType: KeyType,
  rules: RowRules,
): Column {
  if (width !== undefined) {
    if (offsets === undefined) return { bytes, width, checksum }
    throw badRequest(`column "${rules.column}" takes no offsets: keys are of type ${keyType}`)
  }
  if (offsets === undefined) {
    throw badRequest(`column "${rules.column}" needs offsets: keys are of type ${keyType}`)
  }
  return { bytes, offsets: requireOffsets(bytes, offsets, rules), checksum }
}

function checkKeys(column: Column, keyType: KeyType): void {
  const { bytes, offsets } = column
  if (offsets === undefined || keyType === 'bytes') return
  if (keyType === 'string' && areUtf8(bytes, offsets)) return
  const parts = isTupleKeyType(keyType) ? tupleParts(keyType) : undefined
  const count = countOf(column)
  for (let i = 0; i < count; i++) {
    const key = valueAt(column, i)
    const fault = parts !== undefined ? tupleFault(parts, key) : isUtf8(key) ? undefined : NO_UTF8
    if (fault !== undefined) throw badRequest(`key ${i} is not of type ${keyType}: ${fault}`)
  }
}

const NO_UTF8 = 'its bytes are not UTF-8'

/** What rows of any length must be like. */
interface RowRules {
  /** Name of the column. */
  readonly column: string
  /** What one row is. */
  readonly row: string
  readonly least?: number
  readonly most: number
}

/**
 * The offsets that cut a column into rows: as many as there are rows and one, from 0 to the column's end.
 *
 * @throws WarpdexError `BAD_REQUEST`, or `TOO_LARGE` for a row that is too long
 */
function requireOffsets(rows: Uint8Array, cuts: Uint8Array, rules: RowRules): Uint32Array {
  const name = `the offsets of column "${rules.column}"`
  if (cuts.byteLength < 4 || cuts.byteLength % 4 !== 0) {
    throw badRequest(`${name} have ${cuts.byteLength} bytes; they are u32, one more than there are rows`)
  }
  const offsets = aligned(cuts, Uint32Array)
  const { row, least = 0, most } = rules
  if (offsets[0] !== 0) throw badRequest(`${name} must start with 0, not ${offsets[0]}`)
  for (let i = 1; i < offsets.length; i++) {
    const length = offsets[i] - offsets[i - 1]
    if (length < 0) throw badRequest(`${name} must not descend, as they do at ${i}`)
    if (length > most) {
      throw new WarpdexError('TOO_LARGE', `${row} ${i - 1} has ${length} bytes; ${most} are allowed`)
    }
    if (length < least) throw badRequest(`${row} ${i - 1} has ${length} bytes; it needs ${least}`)
  }
  const end = rows.byteLength
  const last = offsets[offsets.length - 1]
  if (last !== end) throw badRequest(`${name} end with ${last}; its values have ${end} bytes`)
  return offsets
}
