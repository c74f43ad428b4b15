import { type Column, columnBytes, countOf, sliceColumn } from './columns.js'

/** The columns of a write: a payload for each key, or none, and where given when each expires. */
export interface WriteItems {
  readonly keys: Column
  readonly payloads: Column | undefined
  /** u64. */
  readonly expireAt?: Column | undefined
}

/** What a piece of a write may have at most. */
export interface PieceLimits {
  readonly rows: number
  /** Bytes of its columns, offsets included. */
  readonly bytes: number
  /** All pieces but the last have a multiple of so many rows; 1 by default. */
  readonly unit?: number
}

/** The items in order, in pieces within the limits. */
export function* cutPieces(items: WriteItems, limits: PieceLimits): Generator<WriteItems> {
  const { keys, payloads, expireAt } = items
  const count = countOf(keys)
  let start = 0
  for (const end of pieceEnds(columnsOf(items), count, limits)) {
    const first = start
    const piece = (column: Column) => sliceColumn(column, first, end)
    if (start === 0 && end === count) yield items
    else
      yield {
        keys: piece(keys),
        payloads: payloads && piece(payloads),
        expireAt: expireAt && piece(expireAt),
      }
    start = end
  }
}

/**
 * Where pieces of columns end that are within the limits, each of which begins where the one before it ends. A row that is over them goes
 * alone: whoever takes it says what is wrong.
 *
 * @param count rows of each column
 */
export function* pieceEnds(
  columns: readonly Column[],
  count: number,
  { rows, bytes, unit = 1 }: PieceLimits,
): Generator<number> {
  let start = 0
  do {
    const first = start
    const fits = (end: number) =>
      columns.reduce((sum, own) => sum + bytesBetween(own, first, end), 0) <= bytes
    let most = Math.min(count, first + rows)
    if (!fits(most)) {
      let least = first + 1
      while (most - least > 1) {
        const middle = (least + most) >>> 1
        if (fits(middle)) least = middle
        else most = middle
      }
      most = Math.min(count, first + Math.max(unit, least - first - ((least - first) % unit)))
    }
    start = most
    yield start
  } while (start < count)
}

/** Bytes that items take as columns. */
export function itemBytes(items: WriteItems): number {
  return columnsOf(items).reduce((sum, column) => sum + columnBytes(column), 0)
}

function columnsOf({ keys, payloads, expireAt }: WriteItems): readonly Column[] {
  return [keys, payloads, expireAt].filter((column) => column !== undefined)
}

function bytesBetween({ width, offsets }: Column, start: number, end: number): number {
  if (width !== undefined) return (end - start) * width
  return offsets[end] - offsets[start] + (end - start + 1) * Uint32Array.BYTES_PER_ELEMENT
}
