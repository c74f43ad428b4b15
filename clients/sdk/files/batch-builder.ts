import type { DuckDBDataChunk } from '@duckdb/node-api'
import { asBytes, type CutColumn } from '../../../protocol/columns.js'
import { badRequest } from '../../../protocol/errors.js'
import type { ColumnDefinition } from '../../../protocol/relation.js'
import { type ColumnValues, hasValue, type RelationBatch } from '../../../protocol/relation-batch.js'
import type { DuckDB } from './duckdb.js'
import { duckType, valueBytes } from './file-types.js'

/** Rows of a batch: enough that a request's own cost does not count, few enough that reading and sending overlap. */
const BATCH_ROWS = 131_072
/** Bytes of different strings that end a batch early. */
const BATCH_STRING_BYTES = 16 * 2 ** 20

type Bindings = DuckDB['bindings']

/** Puts DuckDB's chunks together to batches of a relation, by whole vectors. */
export class BatchBuilder {
  readonly #bindings: Bindings
  readonly #definitions: readonly ColumnDefinition[]
  #columns: readonly ColumnBuilder[] = []
  /** Rows of the batches before. */
  #before = 0
  #rows = 0

  /** @param definitions of the chunks' columns, in order */
  constructor(bindings: Bindings, definitions: readonly ColumnDefinition[]) {
    this.#bindings = bindings
    this.#definitions = definitions
    this.#begin()
  }

  /** @returns a batch without these rows, where it is full @throws WarpdexError `BAD_REQUEST` for a value that is missing */
  add({ chunk, rowCount }: DuckDBDataChunk): RelationBatch | undefined {
    const isFull =
      this.#rows + rowCount > BATCH_ROWS ||
      this.#columns.some(({ stringBytes }) => stringBytes > BATCH_STRING_BYTES)
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
    this.#columns = this.#definitions.map((definition) => new ColumnBuilder(definition))
  }
}

class ColumnBuilder {
  readonly #definition: ColumnDefinition
  readonly #values: Uint8Array
  #validity: Uint8Array | undefined
  #rows = 0
  /** Numbers of different strings as they come. Their keys are bytes as characters: such texts are in the order of bytes. */
  readonly #numbers = new Map<string, number>()
  stringBytes = 0

  constructor(definition: ColumnDefinition) {
    this.#definition = definition
    this.#values = new Uint8Array(BATCH_ROWS * valueBytes(definition.type))
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
    if (type === 'string') this.#addStrings(bindings, data, validity ?? undefined, first, rows)
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
      this.#validity ??= new Uint8Array(BATCH_ROWS / 8).fill(0xff)
      this.#validity[(first + row) >> 3] &= ~(1 << ((first + row) & 7))
    }
    return hole
  }

  /** A string's 16 bytes are its length, and up to 12 bytes of it, or four and the place of all. */
  #addStrings(
    bindings: Bindings,
    data: Uint8Array,
    validity: Uint8Array | undefined,
    first: number,
    rows: number,
  ): void {
    const buffer = data.buffer as ArrayBuffer
    const cells = Buffer.from(buffer, data.byteOffset, data.byteLength)
    const numbers = new Uint32Array(this.#values.buffer, first * 4, rows)
    for (let row = 0; row < rows; row++) {
      if (!hasValue(validity, row)) continue
      const at = row * 16
      const length = cells.readUInt32LE(at)
      let text: string
      if (length <= 12) text = cells.toString('latin1', at + 4, at + 4 + length)
      else {
        const far = bindings.get_data_from_pointer(buffer, data.byteOffset + at + 8, length)
        text = Buffer.from(far.buffer, far.byteOffset, length).toString('latin1')
      }
      let number = this.#numbers.get(text)
      if (number === undefined) {
        number = this.#numbers.size
        this.#numbers.set(text, number)
        this.stringBytes += length
      }
      numbers[row] = number
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
    const texts = [...this.#numbers.keys()].sort()
    const ranks = new Uint32Array(Math.max(1, texts.length))
    const offsets = new Uint32Array(texts.length + 1)
    texts.forEach((text, rank) => {
      ranks[this.#numbers.get(text) ?? 0] = rank
      offsets[rank + 1] = offsets[rank] + text.length
    })
    const numbers = new Uint32Array(this.#values.buffer, 0, this.#rows)
    for (let row = 0; row < numbers.length; row++) numbers[row] = ranks[numbers[row]]
    return { bytes: asBytes(Buffer.from(texts.join(''), 'latin1')), offsets }
  }
}

type Vector = ReturnType<Bindings['data_chunk_get_vector']>
