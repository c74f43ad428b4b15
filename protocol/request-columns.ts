import { aligned } from './columns.js'
import { WarpdexError } from './errors.js'
import type { Section } from './frame.js'
import { LIMITS } from './limits.js'
import type {
  DeleteRequest,
  GetNextRequest,
  InsertMode,
  InsertRequest,
  ScanRequest,
  WriteRequest,
} from './messages.js'
import { type IndexDefinition, keyBytes, payloadBytes, WriteOp } from './types.js'

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
  /** One an item; undefined only where every item is deleteKey. */
  readonly payloads: PayloadColumn | undefined
}

/** Ranges of a scan, checked against their index; an absent column leaves that end of every range open. */
export interface ScanColumns {
  readonly ranges: number
  readonly from: Uint8Array | undefined
  readonly to: Uint8Array | undefined
  readonly tokens: Uint8Array | undefined
}

/** Bytes of the sequence number that follows the key in a scan's token. */
const SEQUENCE_BYTES = 4

const MODE_OPS: { readonly [Mode in InsertMode]: WriteOp } = {
  append: WriteOp.insert,
  replace: WriteOp.replace,
  ifAbsent: WriteOp.insertIfAbsent,
}

/**
 * A column of keys of the index.
 *
 * @throws WarpdexError `WRONG_KEY_TYPE` when the section's type is not the index's key type, `TOO_LARGE` over `batchItems`
 */
export function requireKeys(section: Section, { name, keyType }: IndexDefinition, what = 'keys'): Uint8Array {
  if (section.type !== keyType) {
    throw new WarpdexError(
      'WRONG_KEY_TYPE',
      `section "${what}" is ${section.type}; the keys of index "${name}" are ${keyType}`,
    )
  }
  const count = section.bytes.byteLength / keyBytes(keyType)
  if (!Number.isInteger(count)) throw bad(`section "${what}" is cut off within a key`)
  if (count > LIMITS.batchItems) {
    throw new WarpdexError('TOO_LARGE', `a request has ${count} ${what}; ${LIMITS.batchItems} are allowed`)
  }
  return section.bytes
}

/**
 * A column of payloads of the index, one for each of `count` items.
 *
 * @throws WarpdexError `BAD_REQUEST`, or `TOO_LARGE` for a payload of kind `bytes` over `payloadBytes`
 */
export function requirePayloads(
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
  const offsets = aligned(payloadOffsets.bytes, Uint32Array)
  checkOffsets(offsets, payloads.bytes.byteLength)
  return { bytes: payloads.bytes, offsets }
}

/** The columns of any write. */
export function writeColumns(
  request: InsertRequest | DeleteRequest | WriteRequest,
  definition: IndexDefinition,
): WriteColumns {
  const keys = requireKeys(request.keys, definition)
  const count = keys.byteLength / keyBytes(definition.keyType)
  if (request.payloads === undefined && request.payloadOffsets !== undefined) {
    throw bad('section "payloadOffsets" needs a section "payloads"')
  }
  const payloads =
    request.payloads && requirePayloads(request.payloads, request.payloadOffsets, definition, count)
  switch (request.op) {
    case 'insert':
      return { ops: MODE_OPS[request.mode], keys, payloads }
    case 'delete':
      return { ops: payloads === undefined ? WriteOp.deleteKey : WriteOp.deletePair, keys, payloads }
    case 'write':
      return { ops: requireOps(request.ops, count, payloads !== undefined), keys, payloads }
  }
}

/**
 * The columns of a scan: all that are there must have one entry a range.
 *
 * @throws WarpdexError `TOO_LARGE` when the ranges' limits add up to more than `scanEntries`
 */
export function scanColumns(request: ScanRequest, definition: IndexDefinition): ScanColumns {
  const width = keyBytes(definition.keyType)
  const from = request.from && requireKeys(request.from, definition, 'from')
  const to = request.to && requireKeys(request.to, definition, 'to')
  const tokens = request.tokens?.bytes
  const ranges = from
    ? from.byteLength / width
    : to
      ? to.byteLength / width
      : tokens
        ? Math.floor(tokens.byteLength / (width + SEQUENCE_BYTES))
        : 1
  if (request.to) requireLength(request.to, 'to', ranges * width, `one ${definition.keyType} a range`)
  if (request.tokens) {
    requireLength(request.tokens, 'tokens', ranges * (width + SEQUENCE_BYTES), 'one key and u32 a range')
  }
  if (ranges * request.limit > LIMITS.scanEntries) {
    throw new WarpdexError(
      'TOO_LARGE',
      `${ranges} ranges of ${request.limit} entries are more than ${LIMITS.scanEntries}; lower the limit and continue by tokens`,
    )
  }
  return { ranges, from, to, tokens }
}

/** The columns of getNext: keys, and where given a sequence number for each. */
export function getNextColumns(
  request: GetNextRequest,
  definition: IndexDefinition,
): { readonly keys: Uint8Array; readonly sequences: Uint8Array | undefined } {
  const keys = requireKeys(request.keys, definition)
  const count = keys.byteLength / keyBytes(definition.keyType)
  if (request.sequences)
    requireLength(request.sequences, 'sequences', count * 4, `${count} u32 sequence numbers`)
  return { keys, sequences: request.sequences?.bytes }
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

function checkOffsets(offsets: Uint32Array, end: number): void {
  if (offsets[0] !== 0) throw bad(`payloadOffsets must start with 0, not ${offsets[0]}`)
  for (let i = 1; i < offsets.length; i++) {
    const length = offsets[i] - offsets[i - 1]
    if (length < 0) throw bad(`payloadOffsets must not descend, as they do at ${i}`)
    if (length > LIMITS.payloadBytes) {
      throw new WarpdexError(
        'TOO_LARGE',
        `payload ${i - 1} has ${length} bytes; ${LIMITS.payloadBytes} are allowed`,
      )
    }
  }
  const last = offsets[offsets.length - 1]
  if (last !== end) throw bad(`payloadOffsets end with ${last}; section "payloads" has ${end} bytes`)
}

function requireLength(section: Section, name: string, length: number, meaning: string): void {
  if (section.bytes.byteLength !== length) {
    throw bad(`section "${name}" has ${section.bytes.byteLength} bytes; ${length} are needed, ${meaning}`)
  }
}

function bad(message: string): WarpdexError {
  return new WarpdexError('BAD_REQUEST', message)
}
