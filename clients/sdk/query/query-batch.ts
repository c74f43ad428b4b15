import { type ColumnType, storageOf } from '../../../protocol/column-types.js'
import {
  aligned,
  asBytes,
  columnOf,
  joinedHalves,
  KEY_ARRAYS,
  type KeyArray,
} from '../../../protocol/columns.js'
import type { BatchColumn, ResultBatch } from '../../../protocol/query/result.js'
import { formatText, hasTexts } from '../../../protocol/value-texts.js'
import { toArrow } from '../arrow.js'
import type { RecordBatch } from '../arrow-types.js'

const ENCODER = new TextEncoder()

/** A value of a result: a bigint of integers of 64 and 128 bits, a text of dates, timestamps and decimals, null where there is none. */
export type Cell = number | bigint | string | boolean | null

/** Values of a column as they are stored (`storageOf`): places in `texts` of strings, 0 and 1 of booleans, two halves of 128 bits, the lower one first, 0 where there is none. */
export type CellArray = KeyArray

/** A column of some rows of a result. */
export class ResultVector {
  readonly name: string
  readonly type: ColumnType
  readonly nullable: boolean
  readonly values: CellArray
  /** Bit i of byte i >> 3: row i has a value. Absent where all rows have one. */
  readonly validity: Uint8Array | undefined
  /** Of strings: the distinct ones of these rows, in order. */
  readonly texts: readonly string[] | undefined
  readonly #hasHalves: boolean

  constructor({ name, type, nullable, values, validity, texts }: BatchColumn) {
    this.name = name
    this.type = type
    this.nullable = nullable
    const storage = storageOf(type)
    this.#hasHalves = storage === 'i128'
    this.values = aligned<CellArray>(values, KEY_ARRAYS[storage === 'i128' ? 'u64' : storage])
    this.validity = validity
    this.texts = texts
  }

  get length(): number {
    return this.#hasHalves ? this.values.length / 2 : this.values.length
  }

  at(row: number): Cell {
    if (this.validity !== undefined && ((this.validity[row >> 3]! >> (row & 7)) & 1) === 0) return null
    const value = this.#hasHalves ? joinedHalves(this.values, row) : this.values[row]!
    if (this.type === 'string') return this.texts?.[Number(value)] ?? ''
    if (this.type === 'boolean') return value !== 0
    return hasTexts(this.type) ? formatText(BigInt(value), this.type) : value
  }
}

/** Some rows of a result, as columns. */
export class QueryBatch {
  readonly length: number
  readonly columns: readonly ResultVector[]

  constructor({ rows, columns }: ResultBatch) {
    this.length = rows
    this.columns = columns.map((column) => new ResultVector(column))
  }

  /** A column by name. */
  column(name: string): ResultVector | undefined {
    return this.columns.find((column) => column.name === name)
  }

  /** As an Arrow record batch, in which strings are dictionaries. Needs the package `apache-arrow`. */
  toArrow(): Promise<RecordBatch> {
    const columns = this.columns.map(({ name, values, validity, texts }) => {
      const strings = texts && columnOf(texts.map((text) => ENCODER.encode(text)))
      return [name, { values: asBytes(values), validity, strings }] as const
    })
    return toArrow(this.columns, { rows: this.length, columns: new Map(columns) })
  }

  /** The rows as objects. */
  *rows(): Generator<Record<string, Cell>, void, undefined> {
    for (let row = 0; row < this.length; row++) {
      yield Object.fromEntries(this.columns.map((column) => [column.name, column.at(row)]))
    }
  }
}
