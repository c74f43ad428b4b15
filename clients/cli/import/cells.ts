import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import type { ColumnDefinition, ColumnType } from '../../../protocol/relation.js'
import type { RelationValue } from '../../../protocol/relation-values.js'
import { parseNumber } from '../number-keys.js'
import type { FileRecord } from './records.js'

/** Types of numbers, from the narrowest on; what none of the first four holds is a float. */
const NUMBERS = ['u32', 'i32', 'i64', 'u64', 'f32'] as const

/**
 * The value of a record's cell in a column.
 * @throws WarpdexError `BAD_REQUEST` that names line and column
 */
export function cellValue({ line, cells }: FileRecord, column: ColumnDefinition): RelationValue {
  try {
    return plainValue(cells, column)
  } catch (thrown) {
    const { code, message } = toWarpdexError(thrown)
    throw new WarpdexError(code, `line ${line}: ${message}`)
  }
}

function plainValue(cells: FileRecord['cells'], { name, type, nullable }: ColumnDefinition): RelationValue {
  const cell = cells.get(name)
  const title = `column ${JSON.stringify(name)}`
  if (cell === undefined || cell === null) {
    if (nullable) return null
    // An empty cell of CSV is an empty text where it cannot be a missing one.
    if (type === 'string' && cells.has(name) && cell === undefined) return ''
    throw new WarpdexError('BAD_REQUEST', `${title} has no value; one that may lack them is ${name}:${type}?`)
  }
  const text = textOf(cell)
  if (text === undefined) {
    const shown = JSON.stringify(cell).slice(0, 60)
    throw new WarpdexError('BAD_REQUEST', `${shown} in ${title} is no number and no text`)
  }
  return type === 'string' ? text : parseNumber(text.trim(), type, title)
}

/** What JSON says in one way or another: a number, a truth value, or a text. */
function textOf(cell: unknown): string | undefined {
  if (typeof cell === 'boolean') return cell ? '1' : '0'
  return typeof cell === 'string' || typeof cell === 'number' ? String(cell) : undefined
}

/** Columns that hold all records of a sample. Any of them may lack values, since what comes behind the sample may. */
export function inferColumns(sample: readonly FileRecord[]): readonly ColumnDefinition[] {
  const names = new Set(sample.flatMap(({ cells }) => [...cells.keys()]))
  return [...names].map((name) => ({ name, type: inferType(name, sample), nullable: true }))
}

function inferType(name: string, sample: readonly FileRecord[]): ColumnType {
  const cells = sample.flatMap(({ cells }) => cells.get(name) ?? [])
  // A text of digits in JSON is a text.
  const isText = (cell: unknown) => typeof cell === 'string'
  const mixed = cells.some(isText) && !cells.every(isText)
  if (mixed || cells.length === 0) return 'string'
  return NUMBERS.find((type) => cells.every((cell) => holds(cell, type))) ?? 'string'
}

function holds(cell: unknown, type: (typeof NUMBERS)[number]): boolean {
  const text = textOf(cell)
  if (text === undefined) return false
  try {
    parseNumber(text.trim(), type, '')
    return true
  } catch {
    return false
  }
}
