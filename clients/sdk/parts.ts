import { type Column, columnBytes, countOf } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { cutPieces } from '../../protocol/write-pieces.js'

/** Bytes of a frame that are left to columns: the rest is room for the header and the gaps between columns. */
export const COLUMN_BYTES = LIMITS.frameBytes - LIMITS.headerBytes - 1024

/** How a batch of one kind is cut into parts. */
export interface Cutter<B> {
  /** Parts of a batch that is too large for a request; undefined where it is not. */
  readonly fitting: (batch: B) => readonly B[] | undefined
  /** Smaller parts of one whose answer would be too large; undefined where there are none. */
  readonly smaller: (batch: B) => readonly B[] | undefined
}

/** What was asked for, and the reply. */
interface Answered<B, R> {
  readonly asked: B
  readonly reply: R
}

/**
 * Asks for a batch in as many requests as it takes, all of them before it returns. A part whose answer would be too large is asked for again in
 * smaller ones.
 * @param join makes one answer of the replies, which are in order
 */
export function askInParts<B, R, T>(
  batch: B,
  cutter: Cutter<B>,
  ask: (part: B) => Promise<R>,
  join: (parts: readonly Answered<B, R>[]) => T,
): Promise<T> {
  const askAll = (parts: readonly B[]) => {
    const answers = parts.map((part) => askInParts(part, cutter, ask, (parts) => parts))
    return Promise.all(answers).then((parts) => join(parts.flat()))
  }
  const parts = cutter.fitting(batch)
  if (parts !== undefined) return askAll(parts)
  return ask(batch).then(
    (reply) => join([{ asked: batch, reply }]),
    (error) => {
      const tooLarge = error instanceof WarpdexError && error.code === 'TOO_LARGE'
      const smaller = tooLarge ? cutter.smaller(batch) : undefined
      if (smaller === undefined) throw error
      return askAll(smaller)
    },
  )
}

/** Keys to ask for. */
export interface KeyBatch {
  readonly count: number
  readonly keys: Column
  /** The place within the payloads of each from which to go on, where there is one. */
  readonly places?: Column | undefined
}

/** Parts are multiples of this, so that their bitmaps can be put one after the other. */
const PART_UNIT = 8

export const KEY_PARTS: Cutter<KeyBatch> = {
  fitting: (batch) => {
    const bytes = columnBytes(batch.keys) + (batch.places === undefined ? 0 : columnBytes(batch.places))
    const fits = batch.count <= LIMITS.batchItems && bytes <= COLUMN_BYTES
    return fits || batch.count <= PART_UNIT ? undefined : cutKeys(batch, LIMITS.batchItems)
  },
  smaller: (batch) => {
    const half = Math.ceil(batch.count / 2 / PART_UNIT) * PART_UNIT
    return batch.count <= PART_UNIT ? undefined : cutKeys(batch, half)
  },
}

function cutKeys({ keys, places }: KeyBatch, rows: number): KeyBatch[] {
  const pieces = cutPieces({ keys, payloads: places }, { rows, bytes: COLUMN_BYTES, unit: PART_UNIT })
  return Array.from(pieces, ({ keys, payloads: places }) => {
    return { count: countOf(keys), keys, places }
  })
}
