import { aligned } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import { SEQUENCE_BYTES } from '../../protocol/key-sections.js'
import type { Op } from '../../protocol/messages.js'
import type { Rows, RowWidth } from '../../protocol/rows.js'
import {
  type IndexDefinition,
  type KeyType,
  keyWidth,
  type PayloadKind,
  payloadBytes,
} from '../../protocol/types.js'
import type { Reply } from './connection.js'
import { joinBytes, joinOffsets } from './key-parts.js'
import { Payloads } from './payloads.js'
import { type KeyVector, keyVector } from './stored-keys.js'

/**
 * A reply, and what was asked for. All that is read out of it is as long as that makes right, or the reading fails with `INTERNAL`: what
 * belongs to another request, or to an index of another kind, does not pass for an answer.
 */
export interface Part<O extends Op = Op> {
  readonly reply: Reply<O>
  /** Keys, or ranges. */
  readonly count: number
  /** Entries at most of each range. */
  readonly limit?: number
}

type Count = (part: Part) => number

/** As many as there are keys, or ranges. */
export const each: Count = ({ count }) => count

/** As many as the groups of the reply have together. */
export const eachEntry: Count = (part) => groupsOf(part)[part.count]

/** A column of bytes. */
export function readBytes(parts: readonly Part[], name: string, bytes: Count): Uint8Array {
  return joined(parts.map((part) => sectionOf(part, name, bytes(part))))
}

/** One bit for each key. */
export function readBitmap(parts: readonly Part[], name: string): Uint8Array {
  return readBytes(parts, name, ({ count }) => Math.ceil(count / 8))
}

/** One u32 for each key. */
export function readNumbers(parts: readonly Part[], name: string): Uint32Array {
  return aligned(
    readBytes(parts, name, ({ count }) => 4 * count),
    Uint32Array,
  )
}

/** Where the entries of each key, or range, begin. */
export function readGroups(parts: readonly Part[]): Uint32Array {
  for (const part of parts) checkOffsets(part, 'offsets', groupsOf(part), part.limit)
  return joinOffsets(parts.map(({ reply }) => reply.section('offsets')))
}

export function readKeys<K extends KeyType>(
  parts: readonly Part[],
  { keyType }: IndexDefinition,
  rows: Count,
): KeyVector<K> {
  // K is what the caller said of the index.
  return keyVector(keyType, readRows(parts, 'keys', 'keyOffsets', keyWidth(keyType), rows)) as KeyVector<K>
}

/** One token for each range. */
export function readTokens(parts: readonly Part[], { keyType }: IndexDefinition): Rows {
  const width = keyWidth(keyType)
  return readRows(parts, 'tokens', 'tokenOffsets', width && width + SEQUENCE_BYTES, each)
}

export function readPayloads<P extends PayloadKind>(
  parts: readonly Part[],
  definition: IndexDefinition,
  rows: Count,
): Payloads<P> {
  const width = payloadBytes(definition.payloadKind)
  const { bytes, offsets } = readRows(parts, 'payloads', 'payloadOffsets', width, rows)
  return new Payloads<P>(definition, { bytes, offsets })
}

function readRows(
  parts: readonly Part[],
  name: string,
  offsetsName: string,
  width: RowWidth,
  rows: Count,
): Rows {
  if (width !== undefined) return { bytes: readBytes(parts, name, (part) => width * rows(part)) }
  const ends = parts.map((part) => {
    const offsets = offsetsOf(part, offsetsName, rows(part))
    checkOffsets(part, offsetsName, offsets)
    return offsets[offsets.length - 1]
  })
  const bytes = joined(parts.map((part, i) => sectionOf(part, name, ends[i])))
  return { bytes, offsets: joinOffsets(parts.map(({ reply }) => reply.section(offsetsName))) }
}

function joined(columns: readonly Uint8Array[]): Uint8Array {
  return columns.length === 1 ? columns[0] : joinBytes(columns)
}

function groupsOf(part: Part): Uint32Array {
  return offsetsOf(part, 'offsets', part.count)
}

function offsetsOf(part: Part, name: string, rows: number): Uint32Array {
  return aligned(sectionOf(part, name, 4 * (rows + 1)), Uint32Array)
}

function checkOffsets({ reply }: Part, name: string, offsets: Uint32Array, most = 0xffff_ffff): void {
  if (offsets[0] !== 0) throw misfit(reply, `"${name}" starts with ${offsets[0]}, not with 0`)
  for (let i = 1; i < offsets.length; i++) {
    const length = offsets[i] - offsets[i - 1]
    if (length >= 0 && length <= most) continue
    throw misfit(reply, `number ${i - 1} of "${name}" has ${length} of at most ${most}`)
  }
}

function sectionOf({ reply }: Part, name: string, bytes: number): Uint8Array {
  const section = reply.section(name)
  if (section.byteLength === bytes) return section
  throw misfit(reply, `"${name}" has ${section.byteLength} bytes, not ${bytes}`)
}

function misfit({ op }: Reply<Op>, what: string): WarpdexError {
  return new WarpdexError('INTERNAL', `the server's reply to ${op} does not fit the request: ${what}`)
}
