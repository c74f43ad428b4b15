import { utf8Bytes } from '../utf8.js'
import type { ResultColumn } from './tree.js'

/** A column of some rows of a result. */
export interface BatchColumn extends ResultColumn {
  /** Little-endian values of 4 or 8 bytes; of booleans words 0 and 1, of strings places in `texts`. 0 where there is none. */
  readonly values: Uint8Array
  /** Bit i of byte i >> 3: row i has a value. Absent where all rows have one. */
  readonly validity: Uint8Array | undefined
  /** The distinct strings of the batch, in order. */
  readonly texts: readonly string[] | undefined
}

/** Some rows of a result, as columns. */
export interface ResultBatch {
  readonly rows: number
  readonly columns: readonly BatchColumn[]
}

/** Bytes that say where a string of a batch ends, beside its UTF-8. */
export const TEXT_END_BYTES = 4

/** Bytes of a batch: of its values, of what says which rows have one, and of its strings in UTF-8. */
export function batchBytes({ columns }: ResultBatch): number {
  return columns.reduce(
    (sum, { values, validity, texts }) =>
      sum + values.byteLength + (validity?.byteLength ?? 0) + textBytes(texts ?? []),
    0,
  )
}

function textBytes(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + TEXT_END_BYTES + utf8Bytes(text), 0)
}
