import { badRequest, toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import type { ColumnDefinition } from '../../../protocol/relation.js'
import type { RelationValue } from '../../../protocol/relation-values.js'
import { hasLoneSurrogate } from '../../../protocol/tuple-key.js'
import { parseNumber } from '../number-keys.js'
import { NumberText } from './json-line.js'
import type { FileRecord } from './records.js'

const NOT_A_NUMBER = /^[+-]?nan$/i
const INFINITE = /^[+-]?inf(inity)?$/i
const TRUTH = /^(true|false)$/i

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
    throw badRequest(`${title} has no value; one that may lack them is ${name}:${type}?`)
  }
  const text = cellText(cell)
  if (text === undefined) {
    throw badRequest(`${JSON.stringify(cell).slice(0, 60)} in ${title} is no number and no text`)
  }
  if (type !== 'string') return cellNumber(text.trim(), type, title)
  if (hasLoneSurrogate(text)) {
    throw badRequest(`${title} has a string with half of a surrogate pair, which UTF-8 cannot hold`)
  }
  return text
}

/** Unlike keys, values of relations need no order, so that NaN is one. Truth values are 1 and 0, as they are from Arrow. */
function cellNumber(text: string, type: Exclude<ColumnDefinition['type'], 'string'>, title: string) {
  if (TRUTH.test(text)) return parseNumber(text.length === 4 ? '1' : '0', type, title)
  if (type === 'f32' && NOT_A_NUMBER.test(text)) return Number.NaN
  if (type === 'f32' && INFINITE.test(text)) return text.startsWith('-') ? -Infinity : Infinity
  return parseNumber(text, type, title)
}

/** What JSON says in one way or another: a number, a truth value, or a text. */
export function cellText(cell: unknown): string | undefined {
  if (typeof cell === 'string') return cell
  if (cell instanceof NumberText) return cell.text
  if (typeof cell === 'number') return Object.is(cell, -0) ? '-0' : String(cell)
  return typeof cell === 'boolean' ? String(cell) : undefined
}

export function isTruth(text: string): boolean {
  return TRUTH.test(text)
}

/** Whether a text is what floats have beside finite numbers: NaN or an infinity. */
export function isNonFinite(text: string): boolean {
  return NOT_A_NUMBER.test(text) || INFINITE.test(text)
}
