import { WarpdexError } from './errors.js'

/** A column of keys, payloads or tokens: rows of one width, or rows of any length that are cut by offsets. */
export interface Rows {
  readonly bytes: Uint8Array
  /** Only where rows have no common width: row i is bytes offsets[i] to offsets[i + 1], and the first offset is 0. */
  readonly offsets?: Uint32Array | undefined
}

/** Bytes of every row, or undefined where they come with offsets. */
export type RowWidth = number | undefined

export function rowCount(rows: Rows, width: RowWidth): number {
  return width === undefined ? offsetsOf(rows).length - 1 : rows.bytes.byteLength / width
}

/** Row number i, as a view. */
export function rowAt(rows: Rows, width: RowWidth, i: number): Uint8Array {
  if (width !== undefined) return rows.bytes.subarray(i * width, (i + 1) * width)
  const offsets = offsetsOf(rows)
  return rows.bytes.subarray(offsets[i], offsets[i + 1])
}

/** Rows number `start` to before `end`; their bytes are a view. */
export function sliceRows(rows: Rows, width: RowWidth, start: number, end: number): Rows {
  if (width !== undefined) return { bytes: rows.bytes.subarray(start * width, end * width) }
  const offsets = offsetsOf(rows).slice(start, end + 1)
  const base = offsets[0]
  const bytes = rows.bytes.subarray(base, offsets[offsets.length - 1])
  if (base > 0) for (let i = 0; i < offsets.length; i++) offsets[i] -= base
  return { bytes, offsets }
}

/** The rows with these numbers. */
export function pickRows(rows: Rows, width: RowWidth, numbers: Uint32Array): Rows {
  const picked = Array.from(numbers, (i) => rowAt(rows, width, i))
  return width === undefined ? rowsOf(picked) : { bytes: concatenate(picked) }
}

/**
 * The rows of all columns one after the other.
 *
 * @param rooms how many rows each column takes up; what it lacks is filled up with zeros, or with rows of no bytes
 * @param allocate gives memory for rows of one width, with any content
 * @throws WarpdexError `TOO_LARGE` when offsets cannot count the bytes
 */
export function joinRows(
  columns: readonly Rows[],
  width: RowWidth,
  rooms: readonly number[] = columns.map((column) => rowCount(column, width)),
  allocate?: (bytes: number) => Uint8Array,
): Rows {
  if (columns.length === 1 && rooms[0] === rowCount(columns[0], width)) return columns[0]
  const count = rooms.reduce((sum, room) => sum + room, 0)
  let start = 0
  if (width !== undefined) {
    const bytes = allocate?.(count * width) ?? new Uint8Array(count * width)
    columns.forEach((column, i) => {
      bytes.set(column.bytes, start * width)
      const end = start * width + column.bytes.byteLength
      start += rooms[i]
      if (allocate !== undefined) bytes.fill(0, end, start * width)
    })
    return { bytes }
  }
  const bytes = concatenate(columns.map((column) => column.bytes))
  const offsets = new Uint32Array(count + 1)
  let base = 0
  columns.forEach((column, i) => {
    const own = offsetsOf(column)
    for (let j = 1; j < own.length; j++) offsets[start + j] = base + own[j]
    base += own[own.length - 1]
    offsets.fill(base, start + own.length, start + rooms[i] + 1)
    start += rooms[i]
  })
  return { bytes, offsets }
}

/** Single rows of any length as a column. */
export function rowsOf(rows: readonly Uint8Array[]): Rows & { readonly offsets: Uint32Array } {
  const bytes = concatenate(rows)
  const offsets = new Uint32Array(rows.length + 1)
  for (let i = 0; i < rows.length; i++) offsets[i + 1] = offsets[i] + rows[i].byteLength
  return { bytes, offsets }
}

/**
 * Bytes one after the other.
 *
 * @throws WarpdexError `TOO_LARGE` when offsets cannot count them
 */
export function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]
  const length = parts.reduce((sum, { byteLength }) => sum + byteLength, 0)
  if (length > 0xffffffff) {
    throw new WarpdexError('TOO_LARGE', `${length} bytes are more than offsets can count, 4 GiB; take fewer`)
  }
  const bytes = new Uint8Array(length)
  let end = 0
  for (const part of parts) {
    bytes.set(part, end)
    end += part.byteLength
  }
  return bytes
}

function offsetsOf({ offsets }: Rows): Uint32Array {
  if (offsets !== undefined) return offsets
  throw new WarpdexError('INTERNAL', 'rows of any length came without offsets')
}
