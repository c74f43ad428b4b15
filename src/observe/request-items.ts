import type { Section, Sections, SectionType } from '../../protocol/frame.js'
import type { Request } from '../../protocol/messages.js'

const ELEMENT_BYTES: Readonly<Record<SectionType, number>> = {
  u8: 1,
  u32: 4,
  i32: 4,
  f32: 4,
  u64: 8,
  i64: 8,
  f64: 8,
  bytes: 1,
}

/** Keys of a request that was carried out, entries of a scan, or rows of an append; 0 for one that has none. */
export function itemCount(request: Request, reply: Sections | undefined): number {
  switch (request.op) {
    case 'get':
    case 'count':
    case 'getNext':
    case 'explain':
    case 'insert':
    case 'delete':
    case 'write':
    case 'load':
      return keyCount(request.keys, request.keyOffsets)
    case 'append':
      return request.rows
    case 'scan':
      return rowCount(reply?.offsets)
    default:
      return 0
  }
}

function keyCount(keys: Section, offsets: Section | undefined): number {
  return offsets === undefined ? keys.bytes.byteLength / ELEMENT_BYTES[keys.type] : rowCount(offsets)
}

/** Rows that a column of offsets cuts. */
function rowCount(offsets: Section | undefined): number {
  return Math.max(0, (offsets?.bytes.byteLength ?? 0) / 4 - 1)
}
