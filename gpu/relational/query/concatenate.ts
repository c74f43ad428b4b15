import { WarpdexError } from '../../../protocol/errors.js'
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
  const columns = filled[0]!.columns.map((_, index) => {
    const parts = filled.map((table) => ({ column: table.dense(work, index), rows: table.rows }))
    return joinColumn(work, withOneDictionary(work, parts), rows)
  })
  return Table.ofColumns(rows, columns)
}

interface Part {
  readonly column: QueryColumn
  readonly rows: number
}

function joinColumn(work: DeviceWork, parts: readonly Part[], rows: number): QueryColumn {
  const { type, dictionary } = parts[0]!.column
  const bytes = 4 * valueWords(type)
  const values = work.words(rows * valueWords(type))
  const nullable = parts.some(({ column }) => column.validity !== undefined)
  const validity = nullable ? work.words(Math.ceil(rows / 32)) : undefined
  let first = 0
  for (const part of parts) {
    work.recorder.copy(part.column.values, 0, values, first * bytes, part.rows * bytes)
    if (validity !== undefined) {
      work.kernels.appendBits.record(work, part.column.validity, validity, first, part.rows)
    }
    first += part.rows
  }
  return { type, values, validity, dictionary }
}

/** Columns of strings with the numbers of one dictionary. */
function withOneDictionary(work: DeviceWork, parts: readonly Part[]): readonly Part[] {
  const dictionaries = new Set(parts.flatMap(({ column: { dictionary } }) => dictionary ?? []))
  if (dictionaries.size <= 1) return parts
  const dictionary = [...dictionaries].reduce((merged, other) => mergeDictionaries(merged, other).dictionary)
  return parts.map(({ column, rows }) => ({ column: recode(work, column, rows, dictionary), rows }))
}

/** A column of strings by the numbers of another dictionary, which has all of them. */
function recode(
  work: DeviceWork,
  column: QueryColumn,
  rows: number,
  dictionary: NonNullable<QueryColumn['dictionary']>,
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
