import { aligned } from '../../../protocol/columns.js'
import { hasValue } from '../../../protocol/relation-batch.js'
import { type DistinctStrings, INLINE_BYTES } from './distinct-strings.js'
import type { DuckDB } from './duckdb.js'

/** Bytes of a cell: a string's length, and up to 12 bytes of it, or four and the address of all. */
const CELL_BYTES = 16

/**
 * The strings of one of DuckDB's vectors. It keeps long ones one behind the other, in few runs: each run is asked for as a whole, since
 * asking takes as long as going through dozens of strings.
 */
export class StringVector {
  readonly rows: number
  readonly #bindings: DuckDB['bindings']
  readonly #data: Uint8Array
  readonly #cells: Uint32Array
  /** The run of the last long string, and its address. */
  #run: Uint8Array = new Uint8Array(0)
  #address = 0

  /** @param data its cells */
  constructor(bindings: DuckDB['bindings'], data: Uint8Array) {
    this.#bindings = bindings
    this.#data = data
    this.#cells = aligned(data, Uint32Array)
    this.rows = data.byteLength / CELL_BYTES
  }

  /**
   * The number that the string of a row has among others.
   * @param validity which rows have strings
   */
  numberIn(strings: DistinctStrings, row: number, validity: Uint8Array | undefined): number {
    const cell = row * 4
    const length = this.#cells[cell]
    if (length <= INLINE_BYTES) return strings.numberOf(this.#cells, cell, this.#data, row * CELL_BYTES + 4)
    let from = this.#addressOf(row) - this.#address
    if (from < 0 || from + length > this.#run.length) {
      this.#takeRun(row, validity)
      from = 0
    }
    return strings.numberOf(this.#cells, cell, this.#run, from)
  }

  #takeRun(first: number, validity: Uint8Array | undefined): void {
    this.#address = this.#addressOf(first)
    let end = this.#address + this.#cells[first * 4]
    for (let row = first + 1; row < this.rows; row++) {
      const length = this.#cells[row * 4]
      if (length <= INLINE_BYTES || !hasValue(validity, row)) continue
      if (this.#addressOf(row) !== end) break
      end += length
    }
    const buffer = this.#data.buffer as ArrayBuffer
    const pointer = this.#data.byteOffset + first * CELL_BYTES + 8
    this.#run = this.#bindings.get_data_from_pointer(buffer, pointer, end - this.#address)
  }

  #addressOf(row: number): number {
    return this.#cells[row * 4 + 2] + this.#cells[row * 4 + 3] * 2 ** 32
  }
}
