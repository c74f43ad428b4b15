import { aligned } from './columns.js'

/** Rows of one word of a bitmap. */
export const WORD_ROWS = 32

/** Deleted rows, by words of a bitmap over all rows: of those words that have any, where they are and which bits. */
export interface RemovedRows {
  /** Ascending. */
  readonly places: Uint32Array
  readonly bits: Uint32Array
  /** How many bits are set. */
  readonly rows: number
}

/** Gathers numbers of rows, which must come ascending. */
export class RemovedRowsBuilder {
  readonly #places: number[] = []
  readonly #bits: number[] = []
  #rows = 0

  add(numbers: Uint32Array): void {
    for (const row of numbers) {
      const place = Math.floor(row / WORD_ROWS)
      const bit = 2 ** (row % WORD_ROWS)
      if (this.#places.at(-1) !== place) {
        this.#places.push(place)
        this.#bits.push(bit)
      } else this.#bits[this.#bits.length - 1] += bit
    }
    this.#rows += numbers.length
  }

  build(): RemovedRows {
    return { places: Uint32Array.from(this.#places), bits: Uint32Array.from(this.#bits), rows: this.#rows }
  }
}

/** Bits from one of the first word on, as many as there are rows; those behind them are clear. */
export function bitsFrom(words: Uint8Array, shift: number, rows: number): Uint32Array {
  const source = aligned(words, Uint32Array)
  const bits = new Uint32Array(Math.ceil(rows / WORD_ROWS))
  for (let i = 0; i < bits.length; i++) {
    bits[i] = source[i] >>> shift
    if (shift > 0 && i + 1 < source.length) bits[i] |= source[i + 1] << (WORD_ROWS - shift)
  }
  if (rows % WORD_ROWS > 0) bits[bits.length - 1] &= 2 ** (rows % WORD_ROWS) - 1
  return bits
}
