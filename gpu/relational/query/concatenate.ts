import { WarpdexError } from '../../../protocol/errors.js'
import { evaluateRows } from '../expressions/evaluate.js'
import type { RowCode } from '../expressions/row-code.js'
import type { StringDictionary } from '../string-dictionary.js'
import type { DeviceWork } from './device-work.js'
import { unitedDictionary } from './dictionaries.js'
import type { RowNumbers } from './fetch.js'
import { bytesOf, type QueryColumn, valueWords } from './query-column.js'
import { Table, type TableColumn } from './table.js'

/** What columns of row numbers are beside their values. */
const NUMBERS = { type: 'u32', validity: undefined, dictionary: undefined } as const

/** The most rows that a table can have: there is a number that is no row's. */
const MOST_ROWS = 2 ** 32 - 1

/**
 * The rows of tables one after the other; columns are of the same types. Strings are numbered anew where dictionaries differ.
 * @throws WarpdexError `TOO_LARGE` for 2^32 rows
 */
export async function concatenate(work: DeviceWork, tables: readonly Table[]): Promise<Table> {
  const filled = tables.filter(({ rows }) => rows > 0)
  if (filled.length <= 1) return filled[0] ?? tables[0]!
  const rows = filled.reduce((sum, table) => sum + table.rows, 0)
  if (rows > MOST_ROWS) {
    throw new WarpdexError('TOO_LARGE', `an operator takes up to ${MOST_ROWS} rows; it would get ${rows}`)
  }
  const parts = await withOneDictionary(work, filled)
  return new Table(rows, await joinColumns(work, parts, rows))
}

/** The numbers of rows in parts, and all of them one after the other. */
interface JoinedNumbers {
  readonly numbers: readonly RowNumbers[]
  readonly all: RowNumbers
}

async function joinColumns(work: DeviceWork, parts: readonly Table[], rows: number): Promise<TableColumn[]> {
  const made: TableColumn[] = []
  const joined: JoinedNumbers[] = []
  for (const index of parts[0]!.columns.keys()) {
    await work.letOthers()
    made.push(joinedColumn(work, parts, index, rows, joined))
  }
  return made
}

/** Columns of one source in all tables, as results of a join that come in parts have, stay numbers of its rows. */
function joinedColumn(
  work: DeviceWork,
  parts: readonly Table[],
  index: number,
  rows: number,
  joined: JoinedNumbers[],
): TableColumn {
  const columns = parts.map((part) => part.columns[index]!)
  const { source } = columns[0]!
  const numbers = columns.flatMap((column) => (column.source === source ? (column.rows ?? []) : []))
  if (numbers.length < parts.length) {
    const dense = parts.map((part) => part.dense(work, index))
    return { source: joinColumn(work, parts, dense, rows), rows: undefined }
  }
  const known = joined.find((one) => one.numbers.every((part, i) => part === numbers[i]))
  if (known !== undefined) return { source, rows: known.all }
  const asColumns = numbers.map(({ buffer }) => ({ ...NUMBERS, values: buffer }))
  const { values: buffer } = joinColumn(work, parts, asColumns, rows)
  const all = { buffer, outer: numbers.some(({ outer }) => outer), ascending: false }
  joined.push({ numbers, all })
  return { source, rows: all }
}

function joinColumn(
  work: DeviceWork,
  parts: readonly Table[],
  columns: readonly QueryColumn[],
  rows: number,
): QueryColumn {
  const { type, dictionary } = columns[0]!
  const bytes = 4 * valueWords(type)
  const values = work.words(rows * valueWords(type))
  const nullable = columns.some(({ validity }) => validity !== undefined)
  const validity = nullable ? work.words(Math.ceil(rows / 32)) : undefined
  let first = 0
  for (const [i, column] of columns.entries()) {
    const { rows: count } = parts[i]!
    work.moves({ read: count * bytesOf(column) })
    work.recorder.copy(column.values, 0, values, first * bytes, count * bytes)
    if (validity !== undefined) {
      work.kernels.appendBits.record(work.recorder, column.validity, validity, first, count)
    }
    first += count
  }
  return { type, values, validity, dictionary }
}

/** Tables of the same columns, whose strings are by the numbers of one dictionary for each column. */
async function withOneDictionary(work: DeviceWork, tables: readonly Table[]): Promise<readonly Table[]> {
  const shared = tables[0]!.columns.map((_, index) => sharedDictionary(tables, index))
  if (shared.every((dictionary) => dictionary === undefined)) return tables
  return Promise.all(tables.map((table) => recoded(work, table, shared)))
}

/** A dictionary with all strings of a column; undefined where they have one already. */
export function sharedDictionary(tables: readonly Table[], index: number): StringDictionary | undefined {
  const all = new Set(tables.flatMap(({ columns }) => columns[index]!.source.dictionary ?? []))
  return all.size <= 1 ? undefined : [...all].reduce(unitedDictionary)
}

/** A table whose columns of strings are by the numbers of these dictionaries, where there are any, which have all of them. */
async function recoded(
  work: DeviceWork,
  table: Table,
  dictionaries: readonly (StringDictionary | undefined)[],
): Promise<Table> {
  const columns = await Promise.all(
    table.columns.map(async (column, index) => {
      const dictionary = dictionaries[index]
      if (dictionary === undefined || dictionary === column.source.dictionary) return index
      const build = (code: RowCode) => code.recoded(code.column(column), dictionary)
      return (await evaluateRows(work, { count: table.rows }, [build]))[0]!
    }),
  )
  return table.choose(columns)
}
