import { badRequest, WarpdexError } from './errors.js'
import { packHeader, unpackHeader } from './header-codec.js'
import { LIMITS } from './limits.js'

/** Version of the protocol; hello names it, and the server refuses another. */
export const PROTOCOL_VERSION = 2

/** What a section's bytes are: elements of a little-endian column, or `bytes` for a blob. */
export const SECTION_TYPES = ['u8', 'u32', 'u64', 'i32', 'i64', 'f32', 'f64', 'bytes'] as const
export type SectionType = (typeof SECTION_TYPES)[number]

export interface Section {
  readonly type: SectionType
  readonly bytes: Uint8Array
  /** CRC-32 of the bytes, where another thread has made it already; no part of frames. */
  readonly checksum?: number | undefined
}

/** Sections by name. */
export type Sections = Readonly<Record<string, Section>>

/** A section's place in its frame: `offset` counts from the frame's start and is a multiple of 8; both are in bytes. */
interface SectionPlace {
  readonly name: string
  readonly type: SectionType
  readonly offset: number
  readonly length: number
}

/** A decoded control frame. Sections are views of the frame's memory. */
export interface Frame {
  /** Number that ties a reply to its request; null in the reply to a frame that could not be read. */
  readonly id: number | null
  /** All fields of the header except the section table. */
  readonly header: Readonly<Record<string, unknown>>
  readonly sections: ReadonlyMap<string, Section>
}

/** A frame that cannot be decoded. `id` is its request's where the header could still be read, for the error reply. */
export class FrameError extends WarpdexError {
  readonly id: number | null

  constructor(error: WarpdexError, id: number | null) {
    super(error.code, error.message)
    this.id = id
  }
}

/** What was thrown while a frame was read. @param id as far as it was read */
export function frameError(thrown: unknown, id: number | null): unknown {
  return thrown instanceof WarpdexError && !(thrown instanceof FrameError)
    ? new FrameError(thrown, id)
    : thrown
}

/** Bytes before the header: its length. */
const PREFIX = 4
const SECTION_NAME_LENGTH = 32

/** A whole frame from its header and sections, as `framePieces` but in one piece. */
export function encodeFrame(header: object, sections: Sections = {}): Uint8Array<ArrayBuffer> {
  return framePieces(header, sections, Number.POSITIVE_INFINITY)[0]
}

/**
 * A whole frame in pieces that follow each other. The sections of a large one are pieces themselves, so that they are not copied; they must
 * not change before the frame has left. The `sections` table is made here. A header with a field `ok` is a reply's, which may be larger than
 * a request's.
 *
 * @param header plain values only (null, booleans, numbers, strings, arrays, objects); no `sections` field
 * @param most bytes of a frame of one piece
 * @throws WarpdexError `TOO_LARGE` when the frame or its header is over the limit, `BAD_REQUEST` when the header is nested too deeply
 */
export function framePieces(header: object, sections: Sections = {}, most = ONE_PIECE_BYTES): Pieces {
  const entries = Object.entries(sections)
  const isReply = 'ok' in header
  // The header holds offsets that depend on its own length: guess where the sections start, and correct a short guess.
  let start = entries.length === 0 ? 0 : align8(48 + 40 * entries.length)
  for (;;) {
    let end = start
    const table = entries.map(([name, { type, bytes }]): SectionPlace => {
      const offset = align8(end)
      end = offset + bytes.byteLength
      return { name, type, offset, length: bytes.byteLength }
    })
    const packed = packHeader({ ...header, sections: table })
    const headerEnd = PREFIX + packed.length
    if (entries.length > 0 && headerEnd > start) {
      start = align8(headerEnd)
      continue
    }
    const length = Math.max(headerEnd, end)
    checkSizes(packed.length, length, isReply ? LIMITS.replyHeaderBytes : LIMITS.headerBytes)
    const isOnePiece = length <= most || entries.length === 0
    const head = new Uint8Array(isOnePiece ? length : start)
    new DataView(head.buffer).setUint32(0, packed.length, true)
    head.set(packed, PREFIX)
    const parts = entries.map(([, { bytes }]) => bytes)
    return withParts(head, start, parts, isOnePiece)
  }
}

/** A frame in pieces that follow each other; there is one at least. */
export type Pieces = readonly [Uint8Array<ArrayBuffer>, ...Uint8Array[]]

/** Up to this size frames are copied into one piece. */
export const ONE_PIECE_BYTES = 64 * 1024

/**
 * Puts parts behind the head of a frame, each at a multiple of 8.
 *
 * @param head of `end` bytes, with room for the parts behind it where they are to be one piece with it
 */
export function withParts(
  head: Uint8Array<ArrayBuffer>,
  end: number,
  parts: readonly Uint8Array[],
  isOnePiece: boolean,
): Pieces {
  const pieces: [Uint8Array<ArrayBuffer>, ...Uint8Array[]] = [head]
  let last = end
  for (const part of parts) {
    const offset = align8(last)
    if (isOnePiece) head.set(part, offset)
    else {
      if (offset > last) pieces.push(new Uint8Array(offset - last))
      pieces.push(part)
    }
    last = offset + part.byteLength
  }
  return pieces
}

/** Whether a message is a control frame, as opposed to a data frame: its header has a length. */
export function isControlFrame(bytes: Uint8Array): boolean {
  return bytes[0] !== 0 || bytes[1] !== 0 || bytes[2] !== 0 || bytes[3] !== 0
}

/**
 * Reads a frame and checks everything about it but the meaning of its fields.
 *
 * @param headerLimit bytes that the header may have; a client gives `LIMITS.replyHeaderBytes`
 * @throws FrameError `TOO_LARGE` or `BAD_REQUEST`
 */
export function decodeFrame(bytes: Uint8Array, headerLimit: number = LIMITS.headerBytes): Frame {
  let id: number | null = null
  try {
    const headerEnd = PREFIX + headerLength(bytes, headerLimit)
    const { sections: table, ...header } = readHeader(bytes.subarray(PREFIX, headerEnd))
    if (isId(header.id)) id = header.id
    else if (header.id !== null)
      throw badRequest(`the header's id must be a whole number from 0 to 2^53 - 1, or null`)
    return { id, header, sections: readSections(table, bytes, headerEnd) }
  } catch (error) {
    throw frameError(error, id)
  }
}

function headerLength(bytes: Uint8Array, limit: number): number {
  if (bytes.length < PREFIX) throw badRequest(`a frame of ${bytes.length} bytes has no header length`)
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true)
  checkSizes(length, bytes.length, limit)
  if (length > bytes.length - PREFIX) {
    throw badRequest(`the header length is ${length}, but only ${bytes.length - PREFIX} bytes follow`)
  }
  return length
}

function readHeader(bytes: Uint8Array): Record<string, unknown> {
  const header = unpackHeader(bytes)
  if (!isRecord(header)) throw badRequest('the frame header must be a map')
  return header
}

function readSections(table: unknown, bytes: Uint8Array, headerEnd: number): Map<string, Section> {
  const sections = new Map<string, Section>()
  if (table === undefined) return sections
  if (!Array.isArray(table)) throw badRequest('"sections" must be an array')
  if (table.length > LIMITS.sections) {
    throw badRequest(`the frame has ${table.length} sections; ${LIMITS.sections} are allowed`)
  }
  let end = headerEnd
  for (const entry of table) {
    const { name, type, offset, length } = readPlace(entry)
    if (sections.has(name)) throw badRequest(`section "${name}" is there twice`)
    if (offset < end)
      throw badRequest(`section "${name}" at ${offset} starts before ${end}, where what precedes it ends`)
    end = offset + length
    if (end > bytes.length)
      throw badRequest(`section "${name}" ends at ${end}, after the frame's ${bytes.length} bytes`)
    sections.set(name, { type, bytes: bytes.subarray(offset, end) })
  }
  return sections
}

function readPlace(entry: unknown): SectionPlace {
  if (!isRecord(entry)) throw badRequest('a section must be a map {name, type, offset, length}')
  const { name, type, offset, length } = entry
  if (typeof name !== 'string' || name.length === 0 || name.length > SECTION_NAME_LENGTH) {
    throw badRequest(`a section's name must be a string of 1 to ${SECTION_NAME_LENGTH} characters`)
  }
  const known = SECTION_TYPES.find((candidate) => candidate === type)
  if (known === undefined)
    throw badRequest(`the type of a section must be one of ${SECTION_TYPES.join(', ')}`)
  if (!isId(offset) || offset % 8 !== 0) throw badRequest(`the offset of a section must be a multiple of 8`)
  const width = sectionElementBytes(known)
  if (!isId(length) || length % width !== 0) {
    throw badRequest(`the length of a section of type ${known} must be a multiple of ${width}`)
  }
  return { name, type: known, offset, length }
}

/** Bytes of one element of a section. */
export function sectionElementBytes(type: SectionType): 1 | 4 | 8 {
  if (type === 'u8' || type === 'bytes') return 1
  return type.endsWith('64') ? 8 : 4
}

/** @throws WarpdexError `TOO_LARGE` */
export function checkFrameLength(frame: number): void {
  if (frame <= LIMITS.frameBytes) return
  throw new WarpdexError('TOO_LARGE', `the frame has ${frame} bytes; ${LIMITS.frameBytes} are allowed`)
}

function checkSizes(header: number, frame: number, headerLimit: number): void {
  checkFrameLength(frame)
  if (header > headerLimit) {
    throw new WarpdexError('TOO_LARGE', `the frame header has ${header} bytes; ${headerLimit} are allowed`)
  }
}

function isId(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function align8(length: number): number {
  return Math.ceil(length / 8) * 8
}
