import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { rowCount } from '../../protocol/rows.js'
import { cutPieces, type ItemWidths, itemBytes, type WriteItems } from '../../protocol/write-pieces.js'
import { COLUMN_BYTES } from './write-pieces.js'

/** A reply, and of how many keys it is the answer. */
interface Answered<R> {
  readonly reply: R
  readonly count: number
}

/** Parts of a batch are multiples of this, so that their bitmaps can be put one after the other. */
const PART_UNIT = 8

/**
 * Asks for a batch of keys in as many requests as it takes, all of them before it returns. A part whose answer would be too large is asked
 * for again in halves.
 * @param items keys, and what else there is of each
 * @param join makes one answer of the replies, which are in order
 * @param otherwise makes the answer where a part fails for another reason
 */
export function askInParts<R, T>(
  items: WriteItems,
  widths: ItemWidths,
  ask: (part: WriteItems) => Promise<R>,
  join: (parts: readonly Answered<R>[]) => T,
  otherwise: (error: unknown) => Promise<T> = (error) => Promise.reject(error),
): Promise<T> {
  const count = rowCount(items.keys, widths.keys)
  const tooMany = count > LIMITS.batchItems || itemBytes(items, widths, 0, count) > COLUMN_BYTES
  if (tooMany && count > PART_UNIT) {
    return askParts(items, widths, LIMITS.batchItems, ask).then(join, otherwise)
  }
  return ask(items).then(
    (reply) => join([{ reply, count }]),
    (error) => {
      const tooLarge = error instanceof WarpdexError && error.code === 'TOO_LARGE'
      if (!tooLarge || count <= PART_UNIT) return otherwise(error)
      const half = Math.ceil(count / 2 / PART_UNIT) * PART_UNIT
      return askParts(items, widths, half, ask).then(join, otherwise)
    },
  )
}

async function askParts<R>(
  items: WriteItems,
  widths: ItemWidths,
  rows: number,
  ask: (part: WriteItems) => Promise<R>,
): Promise<readonly Answered<R>[]> {
  const limits = { rows, bytes: COLUMN_BYTES, unit: PART_UNIT }
  const parts = Array.from(cutPieces(items, widths, limits), (part) =>
    askInParts(part, widths, ask, (parts) => parts),
  )
  return (await Promise.all(parts)).flat()
}
