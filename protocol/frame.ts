import { Packr } from 'msgpackr'
import { badRequest, WarpdexError } from './errors.js'
import { LIMITS } from './limits.js'
import { checkPlain } from './plain-msgpack.js'

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
export interface SectionPlace {
  readonly name: string
  readonly type: SectionType
  readonly offset: number
  readonly length: number
}

/** A frame of which everything is known but the bytes of its sections. */
export interface FrameLayout {
  readonly byteLength: number
  readonly header: Uint8Array
  readonly sections: readonly SectionPlace[]
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

/** Bytes before the header: its length. */
const PREFIX = 4
const SECTION_NAME_LENGTH = 32
/** Absent fields are left out (`skipValues`, which the types lack): msgpackr would write an undefined one as an extension. */
const PACKING = { useRecords: false, skipValues: [undefined], int64AsType: 'number' } as const
const packr = new Packr(PACKING)

/**
 * Settles where everything of a frame lies, before its sections' bytes exist. A header with a field `ok` is a reply's, which
 * may be larger than a request's.
 *
 * @param header plain values only (null, booleans, numbers, strings, arrays, objects); no `sections` field
 * @param shapes name, type and length in bytes of each section
 * @throws WarpdexError `TOO_LARGE` when the frame or its header is over the limit, `BAD_REQUEST` when a request's is nested too deeply
 */
export function layoutFrame(
  header: object,
  shapes: readonly { readonly name: string; readonly type: SectionType; readonly length: number }[],
): FrameLayout {
  // The header holds offsets that depend on its own length: guess where the sections start, and correct a short guess.
  let start = shapes.length === 0 ? 0 : align8(48 + 40 * shapes.length)
  for (;;) {
    let end = start
    const sections = shapes.map(({ name, type, length }) => {
      const offset = align8(end)
      end = offset + length
      return { name, type, offset, length }
    })
    const packed = packr.pack({ ...header, sections })
    const isReply = 'ok' in header
    // A request may have been made of anything, a reply is the server's own.
    if (!isReply) checkPlain(packed)
    const headerEnd = PREFIX + packed.length
    if (shapes.length > 0 && headerEnd > start) {
      start = align8(headerEnd)
      continue
    }
    const byteLength = Math.max(headerEnd, end)
    checkSizes(packed.length, byteLength, isReply ? LIMITS.replyHeaderBytes : LIMITS.headerBytes)
    return { byteLength, header: packed, sections }
  }
}

/**
 * Writes all of a frame but its sections' bytes to the start of `target`, which may hold an older frame.
 *
 * @returns for each section, in order, the part of `target` to fill with its bytes
 */
export function writeFrame(layout: FrameLayout, target: Uint8Array): Uint8Array[] {
  new DataView(target.buffer, target.byteOffset).setUint32(0, layout.header.length, true)
  target.set(layout.header, PREFIX)
  let end = PREFIX + layout.header.length
  return layout.sections.map(({ offset, length }) => {
    target.fill(0, end, offset)
    end = offset + length
    return target.subarray(offset, end)
  })
}

/** A whole frame from its header and sections. The `sections` table is made here. */
export function encodeFrame(header: object, sections: Sections = {}): Uint8Array<ArrayBuffer> {
  const entries = Object.entries(sections)
  const layout = layoutFrame(
    header,
    entries.map(([name, { type, bytes }]) => ({ name, type, length: bytes.byteLength })),
  )
  const frame = new Uint8Array(layout.byteLength)
  const rooms = writeFrame(layout, frame)
  entries.forEach(([, { bytes }], i) => {
    rooms[i]!.set(bytes)
  })
  return frame
}

/** Up to this size sections are copied into a frame of one piece. */
const ONE_PIECE_BYTES = 64 * 1024

/**
 * A whole frame in pieces that follow each other. The sections of a large one are pieces themselves, so that they are not copied; they must
 * not change before the frame has left.
 *
 * @throws WarpdexError as `layoutFrame`
 */
export function controlPieces(header: object, sections: Sections = {}): readonly Uint8Array[] {
  const entries = Object.entries(sections)
  const bytes = entries.reduce((sum, [, section]) => sum + section.bytes.byteLength, 0)
  if (bytes <= ONE_PIECE_BYTES) return [encodeFrame(header, sections)]
  const shapes = entries.map(([name, { type, bytes }]) => ({ name, type, length: bytes.byteLength }))
  const layout = layoutFrame(header, shapes)
  const head = new Uint8Array(layout.sections[0]?.offset ?? 0)
  writeFrame({ ...layout, sections: [] }, head)
  const pieces: Uint8Array[] = [head]
  let end = head.byteLength
  layout.sections.forEach(({ offset, length }, i) => {
    if (offset > end) pieces.push(new Uint8Array(offset - end))
    pieces.push(entries[i]![1].bytes)
    end = offset + length
  })
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
    const { sections: table, ...header } = unpackHeader(bytes.subarray(PREFIX, headerEnd))
    if (isId(header.id)) id = header.id
    else if (header.id !== null)
      throw badRequest(`the header's id must be a whole number from 0 to 2^53 - 1, or null`)
    return { id, header, sections: readSections(table, bytes, headerEnd) }
  } catch (error) {
    throw error instanceof WarpdexError ? new FrameError(error, id) : error
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

function unpackHeader(bytes: Uint8Array): Record<string, unknown> {
  checkPlain(bytes)
  let header: unknown
  try {
    header = packr.unpack(bytes)
  } catch {
    throw badRequest('the frame header is not valid msgpack')
  }
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

function align8(length: number): number {
  return Math.ceil(length / 8) * 8
}
