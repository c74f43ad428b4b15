import { type Column, countOf, sliceColumn } from './columns.js'

/** The columns of a write: a payload for each key, or none. */
export interface WriteItems {
  readonly keys: Column
  readonly payloads: Column | undefined
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
export function* cutPieces(items: WriteItems, limits: PieceLimits): Generator<WriteItems> {
  const { keys, payloads } = items
  const count = countOf(keys)
  let start = 0
  do {
    const end = pieceEnd(items, limits, start)
    if (start === 0 && end === count) yield items
    else
      yield { keys: sliceColumn(keys, start, end), payloads: payloads && sliceColumn(payloads, start, end) }
    start = end
  } while (start < count)
}

/** Bytes that items number `start` to before `end` take as columns; all of them by default. */
export function itemBytes({ keys, payloads }: WriteItems, start = 0, end = countOf(keys)): number {
  return bytesBetween(keys, start, end) + (payloads === undefined ? 0 : bytesBetween(payloads, start, end))
}

function pieceEnd(items: WriteItems, { rows, bytes, unit = 1 }: PieceLimits, start: number): number {
  const count = countOf(items.keys)
  const fits = (end: number) => itemBytes(items, start, end) <= bytes
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

function bytesBetween({ width, offsets }: Column, start: number, end: number): number {
  if (width !== undefined) return (end - start) * width
  return offsets[end] - offsets[start] + (end - start + 1) * Uint32Array.BYTES_PER_ELEMENT
}
