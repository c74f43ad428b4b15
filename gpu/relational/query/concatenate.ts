import { WarpdexError } from '../../../protocol/errors.js'
import type { StringDictionary } from '../device-relation.js'
import type { DeviceWork } from './device-work.js'
import { mergeDictionaries } from './dictionaries.js'
import { Op } from './opcodes.js'
import { ProgramBuilder } from './program.js'
import { type QueryColumn, valueWords } from './query-column.js'
import { Table } from './table.js'

/** The most rows that a table can have: there is a number that is no row's. */
const MOST_ROWS = 2 ** 32 - 1

/**
 * The rows of tables one after the other; columns are of the same types. Strings are numbered anew where dictionaries differ.
 * @throws WarpdexError `TOO_LARGE` for 2^32 rows
 */
export function concatenate(work: DeviceWork, tables: readonly Table[]): Table {
  const filled = tables.filter(({ rows }) => rows > 0)
  if (filled.length <= 1) return filled[0] ?? tables[0]!
  const rows = filled.reduce((sum, table) => sum + table.rows, 0)
  if (rows > MOST_ROWS) {
    throw new WarpdexError('TOO_LARGE', `an operator takes up to ${MOST_ROWS} rows; it would get ${rows}`)
  }
  const parts = withOneDictionary(work, filled)
  const columns = parts[0]!.columns.map((_, index) => joinColumn(work, parts, index, rows))
  return Table.ofColumns(rows, columns)
}

function joinColumn(work: DeviceWork, parts: readonly Table[], index: number, rows: number): QueryColumn {
  const columns = parts.map((part) => part.dense(work, index))
  const { type, dictionary } = columns[0]!
  const bytes = 4 * valueWords(type)
  const values = work.words(rows * valueWords(type))
  const nullable = columns.some(({ validity }) => validity !== undefined)
  const validity = nullable ? work.words(Math.ceil(rows / 32)) : undefined
  let first = 0
  for (const [i, column] of columns.entries()) {
    const { rows: count } = parts[i]!
    work.recorder.copy(column.values, 0, values, first * bytes, count * bytes)
    if (validity !== undefined) {
      work.kernels.appendBits.record(work, column.validity, validity, first, count)
    }
    first += count
  }
  return { type, values, validity, dictionary }
}

/** Tables of the same columns, whose strings are by the numbers of one dictionary for each column. */
export function withOneDictionary(work: DeviceWork, tables: readonly Table[]): readonly Table[] {
  const shared = tables[0]!.columns.map((_, index) => sharedDictionary(tables, index))
  if (shared.every((dictionary) => dictionary === undefined)) return tables
  return tables.map((table) =>
    table.choose(
      shared.map((dictionary, index) =>
        dictionary === undefined ? index : recode(work, table.dense(work, index), table.rows, dictionary),
      ),
    ),
  )
}

/** A dictionary with all strings of a column; undefined where they have one already. */
function sharedDictionary(tables: readonly Table[], index: number): StringDictionary | undefined {
  const all = new Set(tables.flatMap(({ columns }) => columns[index]!.source.dictionary ?? []))
  if (all.size <= 1) return undefined
  return [...all].reduce((merged, other) => mergeDictionaries(merged, other).dictionary)
}

/** A column of strings by the numbers of another dictionary, which has all of them. */
function recode(
  work: DeviceWork,
  column: QueryColumn,
  rows: number,
  dictionary: StringDictionary,
): QueryColumn {
  const old = column.dictionary
  if (old === undefined || old === dictionary) return column
  const builder = new ProgramBuilder()
  builder.load(column)
  const codes = Uint32Array.from({ length: old.size }, (_, code) => dictionary.lowerBound(old.at(code)))
  builder.lookUp(Op.tableWord, codes)
  const { evaluation } = work.kernels
  const values = evaluation.record(work, builder.finish(), rows, { words: 1 })
  return { ...column, values, dictionary }
}
