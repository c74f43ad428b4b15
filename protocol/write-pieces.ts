import { type Rows, type RowWidth, rowCount, sliceRows } from './rows.js'

/** The columns of a write: a payload for each key, or none. */
export interface WriteItems {
  readonly keys: Rows
  readonly payloads: Rows | undefined
}

/** Bytes of every key and payload, or undefined where they come with offsets. */
export interface ItemWidths {
  readonly keys: RowWidth
  readonly payloads: RowWidth
}

/** What a piece of a write may have at most. */
export interface PieceLimits {
  readonly rows: number
  /** Bytes of its columns, offsets included. */
  readonly bytes: number
  /** All pieces but the last have a multiple of so many rows; 1 by default. */
  readonly unit?: number
}

/** The items in order, in pieces within the limits. An item that is over them goes alone: whoever takes it says what is wrong. */
export function* cutPieces(
  items: WriteItems,
  widths: ItemWidths,
  limits: PieceLimits,
): Generator<WriteItems> {
  const { keys, payloads } = items
  const count = rowCount(keys, widths.keys)
  let start = 0
  do {
    const end = pieceEnd(items, widths, limits, start)
    const cut = (rows: Rows, width: RowWidth) => sliceRows(rows, width, start, end)
    if (start === 0 && end === count) yield items
    else yield { keys: cut(keys, widths.keys), payloads: payloads && cut(payloads, widths.payloads) }
    start = end
  } while (start < count)
}

/** Bytes that items number `start` to before `end` take as columns. */
export function itemBytes(
  { keys, payloads }: WriteItems,
  widths: ItemWidths,
  start: number,
  end: number,
): number {
  const payloadColumn = payloads === undefined ? 0 : columnBytes(payloads, widths.payloads, start, end)
  return columnBytes(keys, widths.keys, start, end) + payloadColumn
}

function pieceEnd(
  items: WriteItems,
  widths: ItemWidths,
  { rows, bytes, unit = 1 }: PieceLimits,
  start: number,
): number {
  const count = rowCount(items.keys, widths.keys)
  const fits = (end: number) => itemBytes(items, widths, start, end) <= bytes
  let most = Math.min(count, start + rows)
  if (fits(most)) return most
  let least = start + 1
  while (most - least > 1) {
    const middle = (least + most) >>> 1
    if (fits(middle)) least = middle
    else most = middle
  }
  return Math.min(count, start + Math.max(unit, least - start - ((least - start) % unit)))
}

function columnBytes({ offsets }: Rows, width: RowWidth, start: number, end: number): number {
  if (offsets === undefined) return (end - start) * (width ?? 0)
  return offsets[end] - offsets[start] + (end - start + 1) * Uint32Array.BYTES_PER_ELEMENT
}
