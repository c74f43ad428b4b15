import { aligned, type Column, joinColumns } from '../../protocol/columns.js'
import { decodeDataReply } from '../../protocol/data-frame.js'
import type { ColumnName, DataOp, WireColumns } from '../../protocol/data-request.js'
import { WarpdexError } from '../../protocol/errors.js'
import { decodeFrame, isControlFrame, type Section } from '../../protocol/frame.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Op } from '../../protocol/messages.js'
import { type ReplyFields, replyError, replyFields } from '../../protocol/replies.js'
import type { Explanation } from '../../protocol/traversal.js'
import {
  type IndexDefinition,
  type KeyType,
  keyWidth,
  type PayloadKind,
  payloadBytes,
  tokenWidth,
} from '../../protocol/types.js'
import { type KeyVector, keyVector, Payloads } from './results.js'

/** Fields by operation; most requests for data are answered by columns alone. */
interface Fields extends ReplyFields, Record<Exclude<DataOp, 'explain'>, object> {
  readonly explain: { readonly explanation: Explanation }
}

/** A server's answer: a control frame has fields and sections, a data frame has columns. */
export interface Reply<O extends Op = Op> {
  /** Of the request; null where that could not be read. */
  readonly id: number | null
  /** What a data frame says that it answers. */
  readonly op?: DataOp | undefined
  /** Why the request was refused. */
  readonly error: WarpdexError | undefined
  readonly fields: Fields[O]
  readonly sections: ReadonlyMap<string, Section>
  readonly columns: WireColumns
}

const NO_FIELDS = {}
const NO_SECTIONS: ReadonlyMap<string, Section> = new Map()
const NO_COLUMNS: WireColumns = {}

/**
 * Reads a server's frame. What it has is what the request asked for, if the server keeps to the protocol.
 *
 * @throws FrameError
 */
export function readReply(bytes: Uint8Array): Reply {
  if (!isControlFrame(bytes)) {
    const { id, op, columns } = decodeDataReply(bytes)
    return { id, op, error: undefined, fields: NO_FIELDS, sections: NO_SECTIONS, columns }
  }
  const frame = decodeFrame(bytes, LIMITS.replyHeaderBytes)
  const { id, sections } = frame
  return { id, error: replyError(frame), fields: replyFields(frame), sections, columns: NO_COLUMNS }
}

/**
 * A reply, and what was asked for. All that is read out of it is as long as that makes right, or the reading fails with `INTERNAL`: what
 * belongs to another request, or to an index of another kind, does not pass for an answer.
 */
export interface Part {
  readonly reply: Reply
  readonly asked: Asked
}

/** As much of a request as the size of its answer depends on. */
export interface Asked {
  /** Keys, or ranges. */
  readonly count: number
  /** Entries at most of each range. */
  readonly limit?: number | undefined
}

type Count = (part: Part) => number

/** As many as there are keys, or ranges. */
export const each: Count = ({ asked }) => asked.count

/** As many as the groups of the reply have together. */
export const eachEntry: Count = (part) => groupsOf(part)[part.asked.count]

/** One bit for each key. */
export function readBitmap(parts: readonly Part[], name: ColumnName): Uint8Array {
  return readColumn(parts, name, 1, ({ asked }) => Math.ceil(asked.count / 8)).bytes
}

/** One byte for each key, or range. */
export function readBytes(parts: readonly Part[], name: ColumnName): Uint8Array {
  return readColumn(parts, name, 1, each).bytes
}

/** One u32 for each key. */
export function readNumbers(parts: readonly Part[], name: ColumnName): Uint32Array {
  return aligned(readColumn(parts, name, 4, each).bytes, Uint32Array)
}

/** One u64 for each range. */
export function readBigNumbers(parts: readonly Part[], name: ColumnName): BigUint64Array {
  return aligned(readColumn(parts, name, 8, each).bytes, BigUint64Array)
}

/** Where the entries of each key, or range, begin. */
export function readGroups(parts: readonly Part[]): Uint32Array {
  return joinOffsets(
    parts.map((part) => {
      const groups = groupsOf(part)
      checkOffsets(part, 'offsets', groups, part.asked.limit)
      return groups
    }),
  )
}

export function readKeys<K extends KeyType>(
  parts: readonly Part[],
  { keyType }: IndexDefinition,
  rows: Count,
): KeyVector<K> {
  // K is what the caller said of the index.
  return keyVector(keyType, readColumn(parts, 'keys', keyWidth(keyType), rows)) as KeyVector<K>
}

/** One token for each range. */
export function readTokens(parts: readonly Part[], { keyType }: IndexDefinition): Column {
  return readColumn(parts, 'tokens', tokenWidth(keyType), each)
}

export function readPayloads<P extends PayloadKind>(
  parts: readonly Part[],
  { payloadKind }: IndexDefinition,
  rows: Count,
): Payloads<P> {
  const width = payloadBytes(payloadKind)
  return new Payloads<P>(payloadKind, readColumn(parts, 'payloads', width, rows))
}

/** A column with a value for each of some rows. */
export function readColumn(
  parts: readonly Part[],
  name: ColumnName,
  width: number | undefined,
  rows: Count,
): Column {
  if (parts.length === 1) return columnIn(parts[0], name, width, rows(parts[0]))
  return joinColumns(parts.map((part) => columnIn(part, name, width, rows(part))))
}

function columnIn(part: Part, name: ColumnName, width: number | undefined, count: number): Column {
  if (width !== undefined) return { bytes: bytesIn(part, name, width * count), width }
  const cuts = part.reply.columns[name]?.offsets
  if (cuts?.byteLength !== 4 * (count + 1)) throw misfit(part, `"${name}" is not cut into ${count} rows`)
  const offsets = aligned(cuts, Uint32Array)
  checkOffsets(part, name, offsets)
  return { bytes: bytesIn(part, name, offsets[count]), offsets }
}

function groupsOf(part: Part): Uint32Array {
  return aligned(bytesIn(part, 'offsets', 4 * (part.asked.count + 1)), Uint32Array)
}

/** Groups one after the other: each part continues where the one before it ended. */
function joinOffsets(parts: readonly Uint32Array[]): Uint32Array {
  if (parts.length === 1) return parts[0]
  const joined = new Uint32Array(parts.reduce((sum, { length }) => sum + length - 1, 1))
  let start = 0
  let base = 0
  for (const part of parts) {
    for (let i = 1; i < part.length; i++) joined[start + i] = base + part[i]
    start += part.length - 1
    base += part[part.length - 1]
  }
  if (base <= 0xffff_ffff) return joined
  throw new WarpdexError('TOO_LARGE', 'the answer has more than 2^32 entries; ask for fewer keys at a time')
}

function checkOffsets(part: Part, name: ColumnName, offsets: Uint32Array, most = 0xffff_ffff): void {
  if (offsets[0] !== 0) throw misfit(part, `"${name}" starts with ${offsets[0]}, not with 0`)
  for (let i = 1; i < offsets.length; i++) {
    const length = offsets[i] - offsets[i - 1]
    if (length >= 0 && length <= most) continue
    throw misfit(part, `number ${i - 1} of "${name}" has ${length} of at most ${most}`)
  }
}

function bytesIn(part: Part, name: ColumnName, bytes: number): Uint8Array {
  const column = part.reply.columns[name]
  if (column?.bytes.byteLength === bytes) return column.bytes
  throw misfit(part, `"${name}" has ${column?.bytes.byteLength ?? 'no'} bytes, not ${bytes}`)
}

function misfit({ reply: { op } }: Part, what: string): WarpdexError {
  return new WarpdexError(
    'INTERNAL',
    `the server's reply to ${op ?? 'a request'} does not fit the request: ${what}`,
  )
}
