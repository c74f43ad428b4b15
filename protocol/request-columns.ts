import { WarpdexError } from './errors.js'
import type { Section } from './frame.js'
import { optionalEnds, optionalTokens, requireKeys, SEQUENCE_BYTES } from './key-sections.js'
import { LIMITS } from './limits.js'
import type {
  DeleteRequest,
  ExplainRequest,
  GetNextRequest,
  InsertMode,
  InsertRequest,
  LoadRequest,
  ScanRequest,
  WriteRequest,
} from './messages.js'
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

const PAYLOAD_RULES = {
  section: 'payloads',
  offsets: 'payloadOffsets',
  row: 'payload',
  most: LIMITS.payloadBytes,
} as const

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
  payloads: Section,
  payloadOffsets: Section | undefined,
  { name, payloadKind }: IndexDefinition,
  count: number,
): PayloadColumn {
  const width = payloadBytes(payloadKind)
  if (width !== undefined) {
    if (payloadOffsets !== undefined) {
      throw bad(`index "${name}" has ${payloadKind} payloads, which take no section "payloadOffsets"`)
    }
    requireLength(payloads, 'payloads', count * width, `${count} payloads of ${payloadKind}`)
    return { bytes: payloads.bytes, offsets: undefined }
  }
  if (payloadOffsets === undefined) {
    throw bad(`index "${name}" has payloads of kind bytes, which need a section "payloadOffsets"`)
  }
  requireLength(payloadOffsets, 'payloadOffsets', (count + 1) * 4, `${count + 1} u32 offsets`)
  return { bytes: payloads.bytes, offsets: requireOffsets(payloads, payloadOffsets, PAYLOAD_RULES) }
}

/** The columns of any write. */
export function writeColumns(
  request: InsertRequest | DeleteRequest | WriteRequest | LoadRequest,
  definition: IndexDefinition,
): WriteColumns {
  const column = requireKeys(request, definition)
  const count = rowCount(column, keyWidth(definition.keyType))
  const checksums = { keys: request.keys?.checksum, payloads: request.payloads?.checksum }
  const keys = { keys: column.bytes, keyOffsets: column.offsets, checksums }
  if (request.payloads === undefined && request.payloadOffsets !== undefined) {
    throw bad('section "payloadOffsets" needs a section "payloads"')
  }
  const payloads =
    request.payloads && requirePayloads(request.payloads, request.payloadOffsets, definition, count)
  switch (request.op) {
    case 'insert':
    case 'load':
      return { ops: MODE_OPS[request.mode], ...keys, payloads }
    case 'delete':
      return { ops: payloads === undefined ? WriteOp.deleteKey : WriteOp.deletePair, ...keys, payloads }
    case 'write':
      return { ops: requireOps(request.ops, count, payloads !== undefined), ...keys, payloads }
  }
}

/**
 * The columns of a scan: all that are there must have one entry a range.
 *
 * @throws WarpdexError `TOO_LARGE` when the ranges' limits add up to more than `scanEntries`
 */
export function scanColumns(request: ScanRequest, definition: IndexDefinition): ScanColumns {
  const low = optionalEnds(request, 'from', definition)
  const high = optionalEnds(request, 'to', definition)
  const places = optionalTokens(request, definition)
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
  if (ranges * request.limit > LIMITS.scanEntries) {
    throw new WarpdexError(
      'TOO_LARGE',
      `${ranges} ranges of ${request.limit} entries are more than ${LIMITS.scanEntries}; lower the limit and continue by tokens`,
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
  request: GetNextRequest,
  definition: IndexDefinition,
): Pick<WriteColumns, 'keys' | 'keyOffsets'> & { readonly sequences: Uint8Array | undefined } {
  const { bytes: keys, offsets: keyOffsets } = requireKeys(request, definition)
  const count = rowCount({ bytes: keys, offsets: keyOffsets }, keyWidth(definition.keyType))
  if (request.sequences)
    requireLength(request.sequences, 'sequences', count * 4, `${count} u32 sequence numbers`)
  return { keys, keyOffsets, sequences: request.sequences?.bytes }
}

/** The keys whose search is to be explained, one at least. */
export function explainColumns(request: ExplainRequest, definition: IndexDefinition): Rows {
  const keys = requireKeys(request, definition)
  if (rowCount(keys, keyWidth(definition.keyType)) > 0) return keys
  throw bad('explain needs a key at least; send those of the get that is to be explained')
}

function requireOps(section: Section, count: number, withPayloads: boolean): Uint8Array {
  requireLength(section, 'ops', count, `${count} u8 kinds of write`)
  for (const op of section.bytes) {
    if (op > WriteOp.deletePair) throw bad(`${op} is no kind of write; they are 0 to ${WriteOp.deletePair}`)
    if (!withPayloads && op !== WriteOp.deleteKey)
      throw bad('a write needs a section "payloads" unless all of it is deleteKey')
  }
  return section.bytes
}

/** One row a range. */
function requireRows(rows: Rows | undefined, width: number | undefined, name: string, ranges: number): void {
  if (rows === undefined || rowCount(rows, width) === ranges) return
  if (width === undefined) {
    const count = rowCount(rows, width)
    throw bad(`section "${name}" has ${count} rows; ${ranges} are needed, one a range`)
  }
  const { byteLength } = rows.bytes
  throw bad(`section "${name}" has ${byteLength} bytes; ${ranges * width} are needed, ${width} a range`)
}

function requireLength(section: Section, name: string, length: number, meaning: string): void {
  if (section.bytes.byteLength !== length) {
    throw bad(`section "${name}" has ${section.bytes.byteLength} bytes; ${length} are needed, ${meaning}`)
  }
}

function bad(message: string): WarpdexError {
  return new WarpdexError('BAD_REQUEST', message)
}
