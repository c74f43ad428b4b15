import { badRequest, toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import type { ColumnDefinition, RelationDefinition } from '../../../protocol/relation.js'
import type { RelationInput, RelationValue } from '../../../protocol/relation-values.js'
import { cellText, cellValue } from './cells.js'
import { columnSpec } from './column-spec.js'
import { keepsDigits } from './inference.js'
import type { FileRecord } from './records.js'
import type { OnBadLine } from './text.js'

/**
 * The values of records by column.
 * @param isInferred whether the columns are what a sample of the file has, so that they must hold the rest of it as it is
 * @param onBadLine told of records that the relation cannot take
 */
export function relationInput(
  records: readonly FileRecord[],
  definition: RelationDefinition,
  isInferred: boolean,
  onBadLine: OnBadLine,
): RelationInput {
  const { columns } = definition
  const values = columns.map((): RelationValue[] => [])
  for (const record of records) {
    let row: readonly RelationValue[]
    try {
      row = rowOf(record, definition, isInferred)
    } catch (thrown) {
      onBadLine(toWarpdexError(thrown))
      continue
    }
    row.forEach((value, i) => void values[i].push(value))
  }
  return Object.fromEntries(columns.map(({ name }, i) => [name, values[i]]))
}

function rowOf(
  record: FileRecord,
  { name, columns }: RelationDefinition,
  isInferred: boolean,
): readonly RelationValue[] {
  for (const cell of record.cells.keys()) {
    if (columns.some((column) => column.name === cell)) continue
    const message = `line ${record.line}: relation ${JSON.stringify(name)} has no column ${JSON.stringify(cell)}`
    throw badRequest(`${message}; its columns are ${columnSpec(columns)}`)
  }
  if (!isInferred) return columns.map((column) => cellValue(record, column))
  try {
    return columns.map((column) => exactValue(record, column))
  } catch (thrown) {
    const { code, message } = toWarpdexError(thrown)
    const advice = `the relation is ${columnSpec(columns)}, say --columns where it should be another`
    throw new WarpdexError(code, `${message}; ${advice}`)
  }
}

/** What was inferred from the first records does not change the digits of later ones. */
function exactValue(record: FileRecord, column: ColumnDefinition): RelationValue {
  const value = cellValue(record, column)
  const cell = record.cells.get(column.name)
  if (value === null || keepsDigits(cell, column.type)) return value
  throw badRequest(
    `line ${record.line}: ${cellText(cell)} in column ${JSON.stringify(column.name)} is no ${column.type} with these digits`,
  )
}
