import {
  type DuckDBConnection,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBInstance,
  DuckDBTimestampValue,
} from '@duckdb/node-api'
import { type ColumnType, decimalShape, decimalType } from '../../../protocol/column-types.js'
import { formatText, parseText } from '../../../protocol/value-texts.js'
import type { Cell, HostColumn, HostRelation } from './host-relation.js'

const DUCK_TYPES: Readonly<Partial<Record<ColumnType, string>>> = {
  u32: 'UINTEGER',
  i32: 'INTEGER',
  f32: 'FLOAT',
  f64: 'DOUBLE',
  u64: 'UBIGINT',
  i64: 'BIGINT',
  string: 'VARCHAR',
}

/** What DuckDB calls a type; most it calls as we do. */
function duckTypeOf(type: ColumnType): string {
  return DUCK_TYPES[type] ?? type
}

/** DuckDB with the same relations, which says what a query gives. */
export class DuckOracle {
  readonly #connection: DuckDBConnection

  private constructor(connection: DuckDBConnection) {
    this.#connection = connection
  }

  static async open(relations: readonly HostRelation[]): Promise<DuckOracle> {
    const connection = await (await DuckDBInstance.create(':memory:')).connect()
    // It lets filters that a join has found reach below a limit, which takes other rows then.
    await connection.run("set disabled_optimizers = 'join_filter_pushdown'")
    const oracle = new DuckOracle(connection)
    for (const relation of relations) await oracle.#load(relation)
    return oracle
  }

  async rows(sql: string): Promise<Cell[][]> {
    const result = await this.#connection.runAndReadAll(sql)
    return result.getRows().map((row) => row.map(cellOf))
  }

  close(): void {
    this.#connection.closeSync()
  }

  async #load({ name, rows, columns }: HostRelation): Promise<void> {
    const list = columns.map((column) => `"${column.name}" ${duckTypeOf(column.type)}`)
    await this.#connection.run(`create or replace table "${name}" (${list.join(', ')})`)
    const appender = await this.#connection.createAppender(name)
    for (let row = 0; row < rows; row++) {
      for (const column of columns) append(appender, column, row)
      appender.endRow()
    }
    appender.closeSync()
  }
}

type Appender = Awaited<ReturnType<DuckDBConnection['createAppender']>>

function append(appender: Appender, { type, cells }: HostColumn, row: number): void {
  const cell = cells[row]
  if (cell === null || cell === undefined) appender.appendNull()
  else if (type === 'string') appender.appendVarchar(String(cell))
  else if (type === 'u32') appender.appendUInteger(Number(cell))
  else if (type === 'i32') appender.appendInteger(Number(cell))
  else if (type === 'f32') appender.appendFloat(Number(cell))
  else if (type === 'u64') appender.appendUBigInt(BigInt(cell))
  else if (type === 'i64') appender.appendBigInt(BigInt(cell))
  else appendText(appender, type, cell)
}

/** Of a type whose values are texts here, or floats of 64 bits, or booleans. */
function appendText(appender: Appender, type: ColumnType, cell: NonNullable<Cell>): void {
  const stored = () => parseText(String(cell), type)!
  const shape = decimalShape(type)
  if (type === 'f64') appender.appendDouble(Number(cell))
  else if (type === 'boolean') appender.appendBoolean(Boolean(cell))
  else if (type === 'date') appender.appendDate(new DuckDBDateValue(Number(stored())))
  else if (type === 'timestamp') appender.appendTimestamp(new DuckDBTimestampValue(stored()))
  else if (shape !== undefined)
    appender.appendDecimal(new DuckDBDecimalValue(stored(), shape.precision, shape.scale))
}

function cellOf(value: unknown): Cell {
  if (value === null || ['number', 'bigint', 'string', 'boolean'].includes(typeof value)) return value as Cell
  if (value instanceof DuckDBDecimalValue)
    return formatText(value.value, decimalType(value.width, value.scale))
  if (value instanceof DuckDBDateValue) return formatText(BigInt(value.days), 'date')
  if (value instanceof DuckDBTimestampValue) return formatText(value.micros, 'timestamp')
  throw new Error(`the oracle gave ${String(value)}, which no column holds`)
}

/** How far floats may be apart, relative to the larger one: sums and quotients are rounded in other places there. */
const TOLERANCES: Readonly<Partial<Record<ColumnType, number>>> = { f32: 2e-6, f64: 1e-13 }

/**
 * What tells two lists of rows apart, whatever their order unless `ordered`; undefined where nothing does.
 * @param types of the columns
 */
export function difference(
  found: readonly Cell[][],
  wanted: readonly Cell[][],
  types: readonly ColumnType[],
  ordered = false,
): string | undefined {
  const floats = types.map((type) => TOLERANCES[type])
  if (found.length !== wanted.length) return `${found.length} rows instead of ${wanted.length}`
  const [a, b] = ordered ? [found, wanted] : [inOrder(found, floats), inOrder(wanted, floats)]
  for (let row = 0; row < b.length; row++) {
    const [own, other] = [a[row]!, b[row]!]
    if (own.length !== other.length || !own.every((cell, i) => alike(cell, other[i]!, floats[i]))) {
      return `row ${row} is ${show(own)} instead of ${show(other)}`
    }
  }
  return undefined
}

function alike(a: Cell, b: Cell, tolerance: number | undefined): boolean {
  if (tolerance === undefined || a === null || b === null) return exact(a) === exact(b)
  const [x, y] = [Number(a), Number(b)]
  if (Object.is(x, y)) return true
  // What is near infinity would be anything.
  return Number.isFinite(x - y) && Math.abs(x - y) <= tolerance * Math.max(Math.abs(x), Math.abs(y))
}

/** Floats come last: they are near each other, not equal, so they must not decide the order before the others have. */
function inOrder(rows: readonly Cell[][], floats: readonly (number | undefined)[]): Cell[][] {
  const keyed = rows.map((row) => ({
    row,
    key: row.map((cell, i) => (floats[i] && cell !== null ? '' : exact(cell))).join('\u0001'),
    floats: row.filter((cell, i) => floats[i] && cell !== null).map(Number),
  }))
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : compareFloats(a.floats, b.floats)))
  return keyed.map(({ row }) => row)
}

function compareFloats(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, i) => inOrderOf(value, b[i]!) !== 0)
  return at < 0 ? 0 : inOrderOf(a[at]!, b[at]!)
}

/** NaN equals itself and is the largest. */
function inOrderOf(x: number, y: number): number {
  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y))
  return x < y ? -1 : x > y ? 1 : 0
}

function exact(cell: Cell): string {
  return cell === null ? '\u0000' : String(cell)
}

function show(row: readonly Cell[]): string {
  return `[${row.map((cell) => (cell === null ? 'null' : String(cell))).join(', ')}]`
}
