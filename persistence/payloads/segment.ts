import type { Change, Keyspace } from '../disk/committer.js'
import { damaged, decodeRecord, encodeRecord, numberedKey, RecordKind } from '../disk/record.js'
import type { PayloadSegment } from '../log/log-records.js'

/** Bytes that a segment is cut to, and merged to: what has to be read for one row that is not in memory. */
const SEGMENT_BYTES = 64 * 1024
/** Rows of a segment at most, for payloads of a few bytes. */
const SEGMENT_ROWS = 8192

const NOTHING = new Uint8Array(0)
/** Bytes of a segment's record beside offsets and payloads. */
const BARE_RECORD_BYTES = encodeRecord(RecordKind.segment, NOTHING, {}, [NOTHING, NOTHING]).length

/** Payloads in memory: row i of the segment is bytes offsets[i] to offsets[i + 1]. */
export interface SegmentBody {
  readonly offsets: Uint32Array
  readonly bytes: Uint8Array
}

/** Neighbouring rows that lie under one key. */
export interface Segment {
  readonly firstRow: number
  readonly count: number
  readonly payloadBytes: number
  /** The payloads, from when they begin to leave the disk on, for those who have found the segment before. */
  body?: SegmentBody | undefined
}

/** A segment with the change that stores it. */
export interface NewSegment {
  readonly segment: Segment
  readonly change: Change
}

/** The last segment that begins at or before a row; -1 when none does. Segments are in the order of their rows. */
export function findSegment(segments: readonly Segment[], row: number): number {
  let low = 0
  let high = segments.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (segments[middle].firstRow <= row) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** Whether so many payloads may share a segment. */
export function fitsSegment(rows: number, payloadBytes: number): boolean {
  return rows <= SEGMENT_ROWS && payloadBytes + rows * 4 <= SEGMENT_BYTES
}

export function bodyBytes({ offsets, bytes }: SegmentBody): number {
  return offsets.byteLength + bytes.byteLength
}

/** Cuts the payloads of a batch into segments of the right size. A payload that is larger has a segment of its own. */
export function cutSegments(
  keyspace: Keyspace,
  index: number,
  { firstRow, offsets, bytes }: PayloadSegment,
): NewSegment[] {
  const cut: NewSegment[] = []
  const rows = offsets.length - 1
  for (let start = 0, end = 0; start < rows; start = end) {
    end = start + 1
    while (end < rows && fitsSegment(end + 1 - start, offsets[end + 1] - offsets[start])) end++
    const body = {
      offsets: offsets.subarray(start, end + 1),
      bytes: bytes.subarray(offsets[start], offsets[end]),
    }
    cut.push(newSegment(keyspace, index, firstRow + start, body))
  }
  return cut
}

/** @param body its offsets may begin anywhere: only their differences count */
export function newSegment(
  keyspace: Keyspace,
  index: number,
  firstRow: number,
  body: SegmentBody,
): NewSegment {
  const { offsets, bytes } = body
  const count = offsets.length - 1
  const columns = [new Uint8Array(offsets.buffer, offsets.byteOffset, offsets.byteLength), bytes]
  const segment: Segment = { firstRow, count, payloadBytes: bytes.byteLength }
  const key = segmentKey(index, segment)
  return { segment, change: { keyspace, key, value: encodeRecord(RecordKind.segment, key, {}, columns) } }
}

/** Index id, first row, number of rows (u32), bytes of them (u32): opening an index reads the keys and no payloads. */
export function segmentKey(index: number, { firstRow, count, payloadBytes }: Segment): Buffer {
  const sizes = Buffer.allocUnsafe(8)
  sizes.writeUInt32BE(count, 0)
  sizes.writeUInt32BE(payloadBytes, 4)
  return Buffer.concat([numberedKey(index, firstRow), sizes])
}

/** @throws WarpdexError `DAMAGED_FILE` */
export function parseSegmentKey(key: Buffer): Segment {
  if (key.length !== 20) throw damaged('the key of a payload segment is damaged')
  return {
    firstRow: Number(key.readBigUInt64BE(4)),
    count: key.readUInt32BE(12),
    payloadBytes: key.readUInt32BE(16),
  }
}

/** Bytes of a segment's record. */
export function segmentRecordBytes({ count, payloadBytes }: Segment): number {
  return BARE_RECORD_BYTES + (count + 1) * 4 + payloadBytes
}

/** A segment in words, from its key. */
export function describeSegment(key: Buffer): string {
  return `the payload segment of index ${key.readUInt32BE(0)} from row ${parseSegmentKey(key).firstRow}`
}

/** @throws WarpdexError `DAMAGED_FILE` */
export function decodeSegment(key: Buffer, value: Buffer): SegmentBody {
  const { sections } = decodeRecord<object>(RecordKind.segment, key, value, describeSegment(key))
  const offsets = new Uint32Array(sections[0].byteLength / 4)
  new Uint8Array(offsets.buffer).set(sections[0])
  const base = offsets[0]
  for (let i = 0; i < offsets.length; i++) offsets[i] -= base
  return { offsets, bytes: sections[1] }
}
