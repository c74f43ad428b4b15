import type { DuckDBDataChunk } from '@duckdb/node-api'
import type { CutColumn } from '../../../protocol/columns.js'
import { badRequest } from '../../../protocol/errors.js'
import type { ColumnDefinition } from '../../../protocol/relation.js'
import { type ColumnValues, hasValue, type RelationBatch } from '../../../protocol/relation-batch.js'
import { DistinctStrings } from './distinct-strings.js'
import type { DuckDB } from './duckdb.js'
import { duckType, valueBytes } from './file-types.js'
import { byteOrder, inOrder } from './string-order.js'
import { StringVector } from './string-vector.js'

/** Rows of a batch, and bytes of their values: enough that a request's own cost does not count, few enough that reading and storing overlap. */
const BATCH_ROWS = 2 ** 19
const BATCH_BYTES = 8 * 2 ** 20
/** Bytes of different strings that end a batch early. */
const BATCH_STRING_BYTES = 16 * 2 ** 20

type Bindings = DuckDB['bindings']

/** Puts DuckDB's chunks together to batches of a relation, by whole vectors. */
export class BatchBuilder {
  readonly #bindings: Bindings
  readonly #definitions: readonly ColumnDefinition[]
  readonly #batchRows: number
  #columns: readonly ColumnBuilder[] = []
  /** Rows of the batches before. */
  #before = 0
  #rows = 0

  /** @param definitions of the chunks' columns, in order */
  constructor(bindings: Bindings, definitions: readonly ColumnDefinition[]) {
    this.#bindings = bindings
    this.#definitions = definitions
    const width = definitions.reduce((sum, { type }) => sum + valueBytes(type), 0)
    this.#batchRows = Math.min(BATCH_ROWS, Math.floor(BATCH_BYTES / width))
    this.#begin()
  }

  /** @returns a batch without these rows, where it is full @throws WarpdexError `BAD_REQUEST` for a value that is missing */
  add({ chunk, rowCount }: DuckDBDataChunk): RelationBatch | undefined {
    const stringBytes = this.#columns.reduce((sum, column) => sum + column.stringBytes, 0)
    const isFull = this.#rows + rowCount > this.#batchRows || stringBytes > BATCH_STRING_BYTES
    const full = isFull ? this.end() : undefined
    this.#columns.forEach((column, i) => {
      const hole = column.add(this.#bindings, this.#bindings.data_chunk_get_vector(chunk, i), rowCount)
      if (hole === undefined) return
      const { name, type } = this.#definitions[i]
      const advice = `one that may lack them is ${name}:${type}?`
      throw badRequest(
        `row ${this.#before + hole + 1} has no value in column ${JSON.stringify(name)}; ${advice}`,
      )
    })
    this.#rows += rowCount
    return full
  }

  /** The rows since the last batch. */
  end(): RelationBatch {
    const columns = this.#columns.map((column, i) => [this.#definitions[i].name, column.end()] as const)
    const batch = { rows: this.#rows, columns: new Map(columns) }
    this.#begin()
    return batch
  }

  #begin(): void {
    this.#before += this.#rows
    this.#rows = 0
    this.#columns = this.#definitions.map((definition) => new ColumnBuilder(definition, this.#batchRows))
  }
}

class ColumnBuilder {
  readonly #definition: ColumnDefinition
  readonly #capacity: number
  readonly #values: Uint8Array
  readonly #strings = new DistinctStrings()
  #validity: Uint8Array | undefined
  #rows = 0

  /** @param capacity rows that it may get */
  constructor(definition: ColumnDefinition, capacity: number) {
    this.#definition = definition
    this.#capacity = capacity
    this.#values = new Uint8Array(capacity * valueBytes(definition.type))
  }

  /** Bytes of its different strings. */
  get stringBytes(): number {
    return this.#strings.byteLength
  }

  /** @returns the first row without a value, counted from that of the batch, where each must have one */
  add(bindings: Bindings, vector: Vector, rows: number): number | undefined {
    const { type, nullable } = this.#definition
    const { bytes } = duckType(type)
    const data = bindings.vector_get_data(vector, rows * bytes)
    // Null where all rows have values.
    const validity = bindings.vector_get_validity(vector, Math.ceil(rows / 64) * 8) as Uint8Array | null
    const first = this.#rows
    this.#rows += rows
    if (validity !== null) {
      const hole = this.#addHoles(validity, first, rows)
      if (hole !== undefined && !nullable) return hole
    }
    const width = valueBytes(type)
    if (type === 'string') this.#addStrings(new StringVector(bindings, data), validity ?? undefined, first)
    else if (bytes === width) this.#values.set(data, first * width)
    else for (let row = 0; row < rows; row++) this.#values[(first + row) * width] = data[row]
    return undefined
  }

  /** @returns the first of them */
  #addHoles(validity: Uint8Array, first: number, rows: number): number | undefined {
    let hole: number | undefined
    for (let row = 0; row < rows; row++) {
      if (hasValue(validity, row)) continue
      hole ??= first + row
      this.#validity ??= new Uint8Array(Math.ceil(this.#capacity / 8)).fill(0xff)
      this.#validity[(first + row) >> 3] &= ~(1 << ((first + row) & 7))
    }
    return hole
  }

  #addStrings(vector: StringVector, validity: Uint8Array | undefined, first: number): void {
    const numbers = new Uint32Array(this.#values.buffer, first * 4, vector.rows)
    for (let row = 0; row < numbers.length; row++) {
      if (hasValue(validity, row)) numbers[row] = vector.numberIn(this.#strings, row, validity)
    }
  }

  end(): ColumnValues {
    const { type } = this.#definition
    const rows = this.#rows
    const values = this.#values.subarray(0, rows * valueBytes(type))
    const validity = this.#validity?.subarray(0, Math.ceil(rows / 8))
    return type === 'string' ? { values, validity, strings: this.#rank() } : { values, validity }
  }

  /** Puts the different strings in order, and their new numbers into the rows. */
  #rank(): CutColumn {
    const { column } = this.#strings
    const order = byteOrder(column)
    const ranks = new Uint32Array(Math.max(1, order.length))
    order.forEach((number, rank) => {
      ranks[number] = rank
    })
    const numbers = new Uint32Array(this.#values.buffer, 0, this.#rows)
    for (let row = 0; row < numbers.length; row++) numbers[row] = ranks[numbers[row]]
    return inOrder(column, order)
  }
}

type Vector = ReturnType<Bindings['data_chunk_get_vector']>
