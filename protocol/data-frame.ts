import { aligned, asBytes } from './columns.js'
import {
  COLUMN_KINDS,
  COLUMN_TYPES,
  COLUMNS,
  type ColumnName,
  checkOperation,
  DATA_OPS,
  type DataOp,
  type DataReply,
  type DataRequest,
  type SentColumns,
  type SentRequest,
  type WireColumn,
  type WireColumns,
} from './data-request.js'
import { badRequest } from './errors.js'
import {
  align8,
  checkFrameLength,
  frameError,
  isControlFrame,
  ONE_PIECE_BYTES,
  type Pieces,
  SECTION_TYPES,
  sectionElementBytes,
  withParts,
} from './frame.js'
import { RESOLUTIONS, STRATEGIES, type Traversal } from './traversal.js'
import { INSERT_MODES, type InsertMode } from './types.js'

/*
 * A data frame, all of it little-endian:
 *
 *   0        4    5     6      7     8         16       20      24      28      32      36         40        48
 *   | 0 u32  | op | str | res  | n   | id u64  | handle | gen   | flags | count | limit | deadline | number   | n entries | columns
 *
 * An entry is 12 bytes: kind u8, type u8, 0 u16, bytes of the offsets u32 (0: none), bytes of the values u32. Columns follow in the order of
 * their entries, each part at a multiple of 8: first its offsets, then its values. Zeros fill the gaps. A control frame begins with the
 * length of its header, which is never 0; that tells the two apart.
 */

const HEAD_BYTES = 48
const ENTRY_BYTES = 12

const AT = {
  op: 4,
  strategy: 5,
  resolution: 6,
  columns: 7,
  id: 8,
  handle: 16,
  generation: 20,
  flags: 24,
  count: 28,
  limit: 32,
  deadline: 36,
  /** The write id of a write, of a read its version, or of a watch its position. */
  number: 40,
} as const

const FLAGS = {
  reply: 1,
  reverse: 2,
  fromExclusive: 4,
  toExclusive: 8,
  writeId: 16,
  withSequences: 32,
  withoutKeys: 64,
  withoutPayloads: 128,
  version: 1024,
  opensVersion: 2048,
  position: 16_384,
  withExpireAt: 32_768,
} as const
/** The insert mode is a number in these bits. */
const MODE_SHIFT = 8
const MODE_MASK = 3 << MODE_SHIFT
const KNOWN_FLAGS = Object.values(FLAGS).reduce((all, flag) => all | flag, MODE_MASK)

/** By kind. */
const COLUMN_NAMES: (ColumnName | undefined)[] = []
for (const name of COLUMNS) COLUMN_NAMES[COLUMN_KINDS[name]] = name

/**
 * A frame for a request, in one piece.
 * @param zeros gives memory for it
 * @throws WarpdexError `TOO_LARGE`
 */
export function encodeDataRequest(
  request: SentRequest,
  zeros = (bytes: number) => new Uint8Array(bytes),
): Uint8Array<ArrayBuffer> {
  const parts = partsOf(request.columns)
  return encode(request, flagsOf(request), parts, zeros(parts.length))[0]
}

/** What memory for columns of replies has free in front of them: room for the head of their frame. */
export const HEAD_ROOM = 128

/**
 * A frame for a reply, in pieces that follow each other. The columns of a large one are not copied, and must not change before the frame has
 * left: they are pieces themselves or, where they lie as in a frame, the frame is made around them.
 *
 * @param hasRoom whether `HEAD_ROOM` bytes in front of the first column, and what lies between columns, may be overwritten
 * @throws WarpdexError `TOO_LARGE`
 */
export function encodeDataReply(reply: DataReply, hasRoom = false): readonly Uint8Array[] {
  const parts = partsOf(reply.columns)
  const frame = hasRoom ? frameAround(parts) : undefined
  if (frame === undefined) {
    const bytes = parts.length <= ONE_PIECE_BYTES ? parts.length : parts.headBytes
    return encode(reply, FLAGS.reply, parts, new Uint8Array(bytes))
  }
  writeHead(frame, reply, FLAGS.reply)
  return [frame]
}

/** What a frame is put together of. */
interface Parts {
  readonly headBytes: number
  /** Offsets and values of the columns. */
  readonly parts: readonly Uint8Array[]
  /** Bytes of the frame. */
  readonly length: number
}

/** @throws WarpdexError `TOO_LARGE` */
function partsOf(columns: SentColumns): Parts {
  const parts: Uint8Array[] = []
  let entries = 0
  let name: ColumnName
  for (name in columns) {
    const column = columns[name]
    if (column === undefined) continue
    entries++
    if (column.offsets !== undefined) parts.push(asBytes(column.offsets))
    parts.push(column.bytes)
  }
  const headBytes = align8(HEAD_BYTES + ENTRY_BYTES * entries)
  let length = headBytes
  for (const part of parts) length = align8(length) + part.byteLength
  checkFrameLength(length)
  return { headBytes, parts, length }
}

function encode(
  message: SentRequest | DataReply,
  flags: number,
  { headBytes, parts, length }: Parts,
  head: Uint8Array<ArrayBuffer>,
): Pieces {
  writeHead(head, message, flags)
  return withParts(head, headBytes, parts, head.byteLength === length)
}

/** The frame that is there once its head is written in front of its parts; undefined where they do not lie as in a frame. */
function frameAround({ headBytes, parts, length }: Parts): Uint8Array | undefined {
  const [first] = parts
  if (first === undefined || headBytes > HEAD_ROOM) return undefined
  const start = first.byteOffset - headBytes
  let end = headBytes
  for (const { buffer, byteOffset, byteLength } of parts) {
    if (buffer !== first.buffer || byteOffset !== start + align8(end)) return undefined
    end = byteOffset - start + byteLength
  }
  const frame = new Uint8Array(first.buffer, start, length)
  let last = 0
  for (const { byteOffset, byteLength } of parts) {
    frame.fill(0, last, byteOffset - start)
    last = byteOffset - start + byteLength
  }
  return frame
}

/**
 * Reads a request for data: what its operation needs is there, and nothing else is. Widths and lengths of columns depend on the index, and are
 * checked by `request-columns.ts`.
 *
 * @throws FrameError `BAD_REQUEST`, `TOO_LARGE`
 */
export function decodeDataRequest(frame: Uint8Array): DataRequest {
  return decode(frame, readDataRequest)
}

/** Reads a reply with data. @throws FrameError */
export function decodeDataReply(frame: Uint8Array): DataReply {
  return decode(frame, readDataReply)
}

function readDataRequest(
  frame: Uint8Array,
  view: DataView,
  id: number,
  op: DataOp,
  flags: number,
): DataRequest {
  if ((flags & FLAGS.reply) !== 0) throw badRequest('a request has the flag of a reply')
  const request: DataRequest = {
    id,
    op,
    handle: view.getUint32(AT.handle, true),
    generation: view.getUint32(AT.generation, true),
    count: view.getUint32(AT.count, true),
    deadline: view.getUint32(AT.deadline, true),
    limit: view.getUint32(AT.limit, true),
    reverse: (flags & FLAGS.reverse) !== 0,
    fromExclusive: (flags & FLAGS.fromExclusive) !== 0,
    toExclusive: (flags & FLAGS.toExclusive) !== 0,
    withSequences: (flags & FLAGS.withSequences) !== 0,
    withoutKeys: (flags & FLAGS.withoutKeys) !== 0,
    withoutPayloads: (flags & FLAGS.withoutPayloads) !== 0,
    withExpireAt: (flags & FLAGS.withExpireAt) !== 0,
    opensVersion: (flags & FLAGS.opensVersion) !== 0,
    mode: modeOf(flags),
    traversal: traversalOf(frame),
    writeId: (flags & FLAGS.writeId) === 0 ? undefined : readWhole(view, AT.number, 'write id'),
    version: (flags & FLAGS.version) === 0 ? undefined : readWhole(view, AT.number, 'version'),
    position: (flags & FLAGS.position) === 0 ? undefined : readWhole(view, AT.number, 'position'),
    columns: readColumns(frame, view),
  }
  checkOperation(request)
  return request
}

function readDataReply(frame: Uint8Array, view: DataView, id: number, op: DataOp, flags: number): DataReply {
  if ((flags & FLAGS.reply) === 0) throw badRequest('a reply lacks its flag')
  return { id, op, columns: readColumns(frame, view) }
}

function decode<T>(
  frame: Uint8Array,
  read: (frame: Uint8Array, view: DataView, id: number, op: DataOp, flags: number) => T,
): T {
  let known: number | null = null
  try {
    checkFrameLength(frame.byteLength)
    if (isControlFrame(frame) || frame.byteLength < HEAD_BYTES) {
      throw badRequest(`a frame of ${frame.byteLength} bytes has no head of ${HEAD_BYTES}`)
    }
    const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength)
    const id = readWhole(view, AT.id, 'id')
    known = id
    const op = DATA_OPS[frame[AT.op] - 1]
    if (op === undefined)
      throw badRequest(`operation ${frame[AT.op]} is unknown; they are 1 to ${DATA_OPS.length}`)
    const flags = view.getUint32(AT.flags, true)
    if ((flags & ~KNOWN_FLAGS) !== 0) throw badRequest(`flags ${(flags & ~KNOWN_FLAGS) >>> 0} are unknown`)
    return read(frame, view, id, op, flags)
  } catch (error) {
    throw frameError(error, known)
  }
}

function modeOf(flags: number): InsertMode {
  const mode = INSERT_MODES[(flags & MODE_MASK) >> MODE_SHIFT]
  if (mode !== undefined) return mode
  throw badRequest(`insert mode 3 is unknown; they are ${INSERT_MODES.join(', ')}, from 0 on`)
}

function traversalOf(frame: Uint8Array): Traversal | undefined {
  const codes = { strategy: frame[AT.strategy], resolution: frame[AT.resolution] }
  if (codes.strategy === 0 && codes.resolution === 0) return undefined
  const strategy = STRATEGIES[codes.strategy - 1]
  const resolution = RESOLUTIONS[codes.resolution - 1]
  const isKnown = codes.resolution === 0 || (resolution !== undefined && strategy !== 'sequential')
  if (strategy !== undefined && isKnown) return { strategy, resolution }
  throw badRequest(`there is no strategy ${codes.strategy} with resolution ${codes.resolution}`)
}

function flagsOf(request: SentRequest): number {
  const { reverse, fromExclusive, toExclusive, writeId, version, position, mode = INSERT_MODES[0] } = request
  return (
    (reverse ? FLAGS.reverse : 0) |
    (fromExclusive ? FLAGS.fromExclusive : 0) |
    (toExclusive ? FLAGS.toExclusive : 0) |
    (request.withSequences ? FLAGS.withSequences : 0) |
    (request.withoutKeys ? FLAGS.withoutKeys : 0) |
    (request.withoutPayloads ? FLAGS.withoutPayloads : 0) |
    (request.withExpireAt ? FLAGS.withExpireAt : 0) |
    (writeId === undefined ? 0 : FLAGS.writeId) |
    (version === undefined ? 0 : FLAGS.version) |
    (request.opensVersion ? FLAGS.opensVersion : 0) |
    (position === undefined ? 0 : FLAGS.position) |
    (INSERT_MODES.indexOf(mode) << MODE_SHIFT)
  )
}

function writeHead(frame: Uint8Array, message: SentRequest | DataReply, flags: number): void {
  const view = new DataView(frame.buffer, frame.byteOffset)
  const { id, op, columns } = message
  frame[AT.op] = DATA_OPS.indexOf(op) + 1
  writeWhole(view, AT.id, id)
  view.setUint32(AT.flags, flags, true)
  if ('handle' in message) {
    const { traversal, version = 0, position = version, writeId = position } = message
    if (traversal !== undefined) {
      frame[AT.strategy] = STRATEGIES.indexOf(traversal.strategy) + 1
      frame[AT.resolution] = traversal.resolution ? RESOLUTIONS.indexOf(traversal.resolution) + 1 : 0
    }
    view.setUint32(AT.handle, message.handle, true)
    view.setUint32(AT.generation, message.generation, true)
    view.setUint32(AT.count, message.count, true)
    view.setUint32(AT.limit, message.limit ?? 0, true)
    view.setUint32(AT.deadline, message.deadline ?? 0, true)
    writeWhole(view, AT.number, writeId)
  }
  const keyType = ('keyType' in message && message.keyType) || 'bytes'
  let at = HEAD_BYTES
  let name: ColumnName
  for (name in columns) {
    const column = columns[name]
    if (column === undefined) continue
    frame[at] = COLUMN_KINDS[name]
    frame[at + 1] = SECTION_TYPES.indexOf(column.type ?? COLUMN_TYPES[name] ?? keyType)
    view.setUint32(at + 4, column.offsets?.byteLength ?? 0, true)
    view.setUint32(at + 8, column.bytes.byteLength, true)
    at += ENTRY_BYTES
  }
  frame[AT.columns] = (at - HEAD_BYTES) / ENTRY_BYTES
}

function readColumns(frame: Uint8Array, view: DataView): WireColumns {
  const count = frame[AT.columns]
  let end = HEAD_BYTES + ENTRY_BYTES * count
  const columns: { [Name in ColumnName]?: WireColumn } = {}
  const take = (name: string, length: number): Uint8Array => {
    const offset = align8(end)
    end = offset + length
    if (end <= frame.byteLength) return frame.subarray(offset, end)
    throw badRequest(`column "${name}" ends at ${end}, after the frame's ${frame.byteLength} bytes`)
  }
  if (end > frame.byteLength)
    throw badRequest(`${count} columns have entries up to ${end}, after the frame's end`)
  for (let at = HEAD_BYTES; at < HEAD_BYTES + ENTRY_BYTES * count; at += ENTRY_BYTES) {
    const name = COLUMN_NAMES[frame[at]]
    const type = SECTION_TYPES[frame[at + 1]]
    if (name === undefined) throw badRequest(`a column of kind ${frame[at]} is unknown`)
    if (type === undefined || view.getUint16(at + 2, true) !== 0)
      throw badRequest(`column "${name}" has no type`)
    if (columns[name] !== undefined) throw badRequest(`column "${name}" is there twice`)
    const cut = view.getUint32(at + 4, true)
    const length = view.getUint32(at + 8, true)
    if (length % sectionElementBytes(type) !== 0 || cut % 4 !== 0) {
      throw badRequest(`the lengths of column "${name}" are not multiples of its elements'`)
    }
    const offsets = cut === 0 ? undefined : take(name, cut)
    const bytes = take(name, length)
    columns[name] = offsets === undefined ? { type, bytes } : { type, bytes, offsets }
  }
  if (end !== frame.byteLength && align8(end) !== frame.byteLength) {
    throw badRequest(`the frame has ${frame.byteLength} bytes; its columns end at ${end}`)
  }
  return columns
}

/** A u64 that JavaScript can count to. */
function readWhole(view: DataView, at: number, what: string): number {
  const value = view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32
  if (Number.isSafeInteger(value)) return value
  throw badRequest(`the ${what} must be below 2^53`)
}

function writeWhole(view: DataView, at: number, value: number): void {
  view.setUint32(at, value >>> 0, true)
  view.setUint32(at + 4, Math.floor(value / 2 ** 32), true)
}

/** The one number of a column of u64. */
export function numberIn(column: WireColumn, name: string): number {
  const [value, ...others] = aligned(column.bytes, BigUint64Array)
  if (value !== undefined && others.length === 0 && value <= Number.MAX_SAFE_INTEGER) return Number(value)
  throw badRequest(`column "${name}" is one u64 below 2^53`)
}
