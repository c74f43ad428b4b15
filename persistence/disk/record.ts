import { crc32 } from 'node:zlib'
import { Packr } from 'msgpackr'
import { WarpdexError } from '../../protocol/errors.js'
import { joinedChecksum } from './checksums.js'

/** What a record is of. A record that lies where another kind belongs counts as damage. */
export const RecordKind = {
  format: 1,
  counter: 2,
  index: 3,
  droppedIndex: 4,
  write: 5,
  segment: 6,
  outcome: 7,
  snapshot: 8,
  snapshotFrame: 9,
  relation: 10,
  append: 11,
  change: 12,
  entry: 13,
  replica: 14,
} as const
export type RecordKind = (typeof RecordKind)[keyof typeof RecordKind]

/** A record as it was read. The sections are views into one buffer, at any alignment. */
export interface StoredRecord<Meta> {
  readonly meta: Meta
  readonly sections: readonly Uint8Array[]
}

const MAGIC = 0x5857
const VERSION = 1
const HEAD_BYTES = 16

/** A record that is whole, but that this program cannot read. */
export class OtherVersion extends WarpdexError {}

const packr = new Packr({ useRecords: false })

/**
 * The one form of everything that is stored: u32 checksum, u16 magic, u8 kind, u8 version, u32 length of the meta object, u32
 * number of sections, u32 length of each section (all little-endian); the meta object in msgpack; the sections.
 *
 * The checksum (CRC-32) also covers the key that the record is stored under, so that a record in a wrong place is noticed.
 *
 * @param checksums those of sections, as far as they are known
 * @returns the record in parts, to be joined or written one after the other
 */
export function recordParts(
  kind: RecordKind,
  key: Uint8Array,
  meta: unknown,
  sections: readonly Uint8Array[] = [],
  checksums: readonly (number | undefined)[] = [],
): Uint8Array[] {
  const packed = packr.pack(meta)
  const head = Buffer.allocUnsafe(HEAD_BYTES + sections.length * 4 + packed.length)
  head.writeUInt16LE(MAGIC, 4)
  head.writeUInt8(kind, 6)
  head.writeUInt8(VERSION, 7)
  head.writeUInt32LE(packed.length, 8)
  head.writeUInt32LE(sections.length, 12)
  sections.forEach((section, i) => {
    head.writeUInt32LE(section.byteLength, HEAD_BYTES + i * 4)
  })
  head.set(packed, HEAD_BYTES + sections.length * 4)
  let checksum = crc32(head.subarray(4), crc32(key))
  sections.forEach((section, i) => {
    // Of an empty array zlib may see no address, which it takes for a call to begin anew.
    if (section.byteLength === 0) return
    const known = checksums[i]
    checksum =
      known === undefined ? crc32(section, checksum) : joinedChecksum(checksum, known, section.byteLength)
  })
  head.writeUInt32LE(checksum, 0)
  return [head, ...sections]
}

/**
 * The record in one buffer.
 * @param allocate gives the buffer, of so many bytes
 * @param checksums as of `recordParts`
 */
export function encodeRecord(
  kind: RecordKind,
  key: Uint8Array,
  meta: unknown,
  sections: readonly Uint8Array[] = [],
  allocate: (bytes: number) => Buffer = Buffer.allocUnsafe,
  checksums: readonly (number | undefined)[] = [],
): Buffer {
  const parts = recordParts(kind, key, meta, sections, checksums)
  const record = allocate(parts.reduce((bytes, { byteLength }) => bytes + byteLength, 0))
  let at = 0
  for (const part of parts) {
    record.set(part, at)
    at += part.byteLength
  }
  return record
}

/**
 * @param what names the record in an error
 * @throws WarpdexError `DAMAGED_FILE` when the bytes are not a sound record of that kind, stored under that key
 */
export function decodeRecord<Meta>(
  kind: RecordKind,
  key: Uint8Array,
  bytes: Buffer,
  what: string,
): StoredRecord<Meta> {
  if (bytes.length < HEAD_BYTES || bytes.readUInt16LE(4) !== MAGIC) throw damaged(`${what} is not a record`)
  if (bytes.readUInt32LE(0) !== crc32(bytes.subarray(4), crc32(key))) {
    throw damaged(`${what} does not match its checksum`)
  }
  if (bytes.readUInt8(7) !== VERSION) {
    throw new OtherVersion(
      'DAMAGED_FILE',
      `${what} has version ${bytes.readUInt8(7)}; this program reads version ${VERSION}, so use the version that wrote it`,
    )
  }
  if (bytes.readUInt8(6) !== kind) throw damaged(`${what} is a record of another kind`)
  const sectionCount = bytes.readUInt32LE(12)
  let end = HEAD_BYTES + sectionCount * 4
  const take = (length: number): Buffer => {
    end += length
    return bytes.subarray(end - length, end)
  }
  // The checksum vouches that the meta object is the one that was written, so it has the shape that was written.
  const meta = packr.unpack(take(bytes.readUInt32LE(8))) as Meta
  const sections: Uint8Array[] = []
  for (let i = 0; i < sectionCount; i++) sections.push(take(bytes.readUInt32LE(HEAD_BYTES + i * 4)))
  return { meta, sections }
}

/** The kind of a record, undefined where it is no whole one. */
export function kindOf(bytes: Buffer): number | undefined {
  return bytes.length < HEAD_BYTES ? undefined : bytes.readUInt8(6)
}

/** Key of something that an index has many of, in order: index id (u32), number (u64), both big-endian. */
export function numberedKey(index: number, number: number): Buffer {
  const key = Buffer.allocUnsafe(12)
  key.writeUInt32BE(index, 0)
  key.writeBigUInt64BE(BigInt(number), 4)
  return key
}

/** The number of a key that begins as `numberedKey` makes it. */
export function numberOf(key: Buffer): number {
  return Number(key.readBigUInt64BE(4))
}

/** Key of an index. */
export function indexKey(index: number): Buffer {
  const key = Buffer.allocUnsafe(4)
  key.writeUInt32BE(index, 0)
  return key
}

/** The range of all keys that begin with an index id. */
export function keysOfIndex(index: number): { start: Buffer; end: Buffer } {
  return { start: indexKey(index), end: indexKey(index + 1) }
}

export function damaged(message: string, cause?: unknown): WarpdexError {
  return new WarpdexError('DAMAGED_FILE', message, cause === undefined ? undefined : { cause })
}
