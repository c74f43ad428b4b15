import type { DataRequest, WireColumn } from './data-request.js'
import { badRequest, WarpdexError } from './errors.js'
import type { InsertMode } from './insert-mode.js'
import { optionalEnds, optionalTokens, requireKeys, SEQUENCE_BYTES } from './key-column.js'
import { LIMITS } from './limits.js'
import { requireOffsets } from './offsets.js'
import { type Rows, rowCount } from './rows.js'
import { type IndexDefinition, keyWidth, payloadBytes, WriteOp } from './types.js'

/** Payloads of a batch. */
export interface PayloadColumn {
  readonly bytes: Uint8Array
  /** For kind `bytes` only: payload i is bytes offsets[i] to offsets[i + 1]. */
  readonly offsets: Uint32Array | undefined
}

/** Items of a write batch, checked against their index. */
export interface WriteColumns {
  /** One kind for all items, or one byte an item. */
  readonly ops: WriteOp | Uint8Array
  readonly keys: Uint8Array
  /** For keys of variable length only: key i is bytes keyOffsets[i] to keyOffsets[i + 1]. */
  readonly keyOffsets?: Uint32Array | undefined
  /** One an item; undefined only where every item is deleteKey. */
  readonly payloads: PayloadColumn | undefined
  /** As far as they are known: whoever gives them answers for them, since they are logged as they are, and a wrong one makes a log unreadable. */
  readonly checksums?: ColumnChecksums | undefined
}

/** CRC-32s of the bytes of columns. */
export interface ColumnChecksums {
  readonly keys?: number | undefined
  readonly payloads?: number | undefined
}

/** Ranges of a scan, checked against their index; an absent column leaves that end of every range open. */
export interface ScanColumns {
  readonly ranges: number
  readonly from: Uint8Array | undefined
  readonly fromOffsets?: Uint32Array | undefined
  readonly to: Uint8Array | undefined
  readonly toOffsets?: Uint32Array | undefined
  readonly tokens: Uint8Array | undefined
  readonly tokenOffsets?: Uint32Array | undefined
}

const PAYLOAD_RULES = { column: 'payloads', row: 'payload', most: LIMITS.payloadBytes } as const

/** What an insert of each mode does with an item. */
export const MODE_OPS: { readonly [Mode in InsertMode]: WriteOp } = {
  append: WriteOp.insert,
  replace: WriteOp.replace,
  ifAbsent: WriteOp.insertIfAbsent,
}

/**
 * A column of payloads of the index, one for each of `count` items.
 *
 * @throws WarpdexError `BAD_REQUEST`, or `TOO_LARGE` for a payload of kind `bytes` over `payloadBytes`
 */
function requirePayloads(
  { bytes, offsets }: WireColumn,
  { name, payloadKind }: IndexDefinition,
  count: number,
): PayloadColumn {
  const width = payloadBytes(payloadKind)
  if (width !== undefined) {
    if (offsets !== undefined)
      throw badRequest(`index "${name}" has ${payloadKind} payloads, which take no offsets`)
    requireLength(bytes, 'payloads', count * width, `${count} payloads of ${payloadKind}`)
    return { bytes, offsets: undefined }
  }
  if (offsets === undefined)
    throw badRequest(`index "${name}" has payloads of kind bytes, which need offsets`)
  const cuts = requireOffsets(bytes, offsets, PAYLOAD_RULES)
  if (cuts.length === count + 1) return { bytes, offsets: cuts }
  throw badRequest(`column "payloads" has ${cuts.length - 1} rows; ${count} are needed, one an item`)
}

/** The keys of a request, as many as its head says. */
export function requestKeys(request: DataRequest, definition: IndexDefinition): Rows {
  const keys = requireKeys(request.columns, definition)
  requireCount(request, rowCount(keys, keyWidth(definition.keyType)))
  return keys
}

/** The columns of any write. */
export function writeColumns(request: DataRequest, definition: IndexDefinition): WriteColumns {
  const { op, columns, count } = request
  const { bytes: keys, offsets: keyOffsets } = requestKeys(request, definition)
  const checksums = { keys: columns.keys?.checksum, payloads: columns.payloads?.checksum }
  const payloads = columns.payloads && requirePayloads(columns.payloads, definition, count)
  const items = { keys, keyOffsets, checksums, payloads }
  if (columns.ops !== undefined)
    return { ops: requireOps(columns.ops, count, payloads !== undefined), ...items }
  if (op === 'delete') {
    return { ops: payloads === undefined ? WriteOp.deleteKey : WriteOp.deletePair, ...items }
  }
  return { ops: MODE_OPS[request.mode ?? 'append'], ...items }
}

/**
 * The columns of a scan: all that are there must have one entry a range.
 *
 * @throws WarpdexError `TOO_LARGE` when the ranges' limits add up to more than `scanEntries`
 */
export function scanColumns(request: DataRequest, definition: IndexDefinition): ScanColumns {
  const { columns, limit = 0 } = request
  if (limit < 1 || limit > LIMITS.scanEntries) {
    throw badRequest(`scan takes a limit from 1 to ${LIMITS.scanEntries}, not ${limit}`)
  }
  const low = optionalEnds(columns, 'from', definition)
  const high = optionalEnds(columns, 'to', definition)
  const places = optionalTokens(columns, definition)
  const width = keyWidth(definition.keyType)
  const tokenBytes = width && width + SEQUENCE_BYTES
  const ranges = low
    ? rowCount(low, width)
    : high
      ? rowCount(high, width)
      : places
        ? Math.floor(rowCount(places, tokenBytes))
        : 1
  requireRows(high, width, 'to', ranges)
  requireRows(places, tokenBytes, 'tokens', ranges)
  requireCount(request, ranges)
  if (ranges * limit > LIMITS.scanEntries) {
    throw new WarpdexError(
      'TOO_LARGE',
      `${ranges} ranges of ${limit} entries are more than ${LIMITS.scanEntries}; lower the limit and continue by tokens`,
    )
  }
  return {
    ranges,
    from: low?.bytes,
    fromOffsets: low?.offsets,
    to: high?.bytes,
    toOffsets: high?.offsets,
    tokens: places?.bytes,
    tokenOffsets: places?.offsets,
  }
}

/** The columns of getNext: keys, and where given a sequence number for each. */
export function getNextColumns(
  request: DataRequest,
  definition: IndexDefinition,
): Pick<WriteColumns, 'keys' | 'keyOffsets'> & { readonly sequences: Uint8Array | undefined } {
  const { bytes: keys, offsets: keyOffsets } = requestKeys(request, definition)
  const { count } = request
  const sequences = request.columns.sequences?.bytes
  if (sequences) requireLength(sequences, 'sequences', count * 4, `${count} u32 sequence numbers`)
  return { keys, keyOffsets, sequences }
}

/** The keys whose search is to be explained, one at least. */
export function explainColumns(request: DataRequest, definition: IndexDefinition): Rows {
  if (request.count > 0) return requestKeys(request, definition)
  throw badRequest('explain needs a key at least; send those of the get that is to be explained')
}

/** The head counts what the columns have. */
function requireCount({ op, count }: DataRequest, found: number): void {
  if (found === count) return
  throw badRequest(
    `${op} says that it has ${count} ${op === 'scan' ? 'ranges' : 'keys'}; its columns have ${found}`,
  )
}

function requireOps({ bytes }: WireColumn, count: number, withPayloads: boolean): Uint8Array {
  requireLength(bytes, 'ops', count, `${count} u8 kinds of write`)
  for (const op of bytes) {
    if (op > WriteOp.deletePair)
      throw badRequest(`${op} is no kind of write; they are 0 to ${WriteOp.deletePair}`)
    if (!withPayloads && op !== WriteOp.deleteKey)
      throw badRequest('a write needs a column "payloads" unless all of it is deleteKey')
  }
  return bytes
}

/** One row a range. */
function requireRows(rows: Rows | undefined, width: number | undefined, name: string, ranges: number): void {
  if (rows === undefined || rowCount(rows, width) === ranges) return
  if (width === undefined) {
    const count = rowCount(rows, width)
    throw badRequest(`column "${name}" has ${count} rows; ${ranges} are needed, one a range`)
  }
  const { byteLength } = rows.bytes
  throw badRequest(`column "${name}" has ${byteLength} bytes; ${ranges * width} are needed, ${width} a range`)
}

function requireLength({ byteLength }: Uint8Array, name: string, length: number, meaning: string): void {
  if (byteLength !== length) {
    throw badRequest(`column "${name}" has ${byteLength} bytes; ${length} are needed, ${meaning}`)
  }
}
