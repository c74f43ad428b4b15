import type { ColumnDefinition, ColumnType } from '../../../protocol/relation.js'
import { parseNumber, showNumber } from '../number-keys.js'
import { cellText, isNonFinite, isTruth } from './cells.js'
import type { FileRecord } from './records.js'

/** Types of numbers, from the narrowest on; what none of the first four holds may be a float. */
const NUMBERS = ['u32', 'i32', 'i64', 'u64', 'f32'] as const
type NumberType = (typeof NUMBERS)[number]

/** Whole numbers in their only form: what else begins with a zero or a plus sign is no number but digits, such as a postcode. */
const WHOLE = /^(0|-?[1-9]\d*)$/
const DECIMAL = /^-?(?:0|[1-9]\d*|(?=\.\d))(?:\.\d*)?(?:e[+-]?\d+)?$/i

/**
 * Columns that hold all records of a sample as they are. Any of them may lack values, since what comes behind the sample may.
 */
export function inferColumns(sample: readonly FileRecord[]): readonly ColumnDefinition[] {
  const names = new Set(sample.flatMap(({ cells }) => [...cells.keys()]))
  return [...names].map((name) => ({ name, type: inferType(name, sample), nullable: true }))
}

function inferType(name: string, sample: readonly FileRecord[]): ColumnType {
  const cells = sample.flatMap(({ cells }) => cells.get(name) ?? [])
  // A text of digits beside numbers of JSON is a text; NaN and infinities can be nothing else there.
  const isText = (cell: unknown) => typeof cell === 'string' && !isNonFinite(cell.trim())
  const mixed = cells.some(isText) && !cells.every((cell) => typeof cell === 'string')
  if (mixed || cells.length === 0) return 'string'
  // Beside numbers, truth values would not be told from 1 and 0.
  if (cells.every((cell) => isTruth(textOf(cell)))) return 'u32'
  return NUMBERS.find((type) => cells.every((cell) => holdsExactly(cell, type))) ?? 'string'
}

/** Blanks around a number mean nothing. */
function textOf(cell: unknown): string {
  return cellText(cell)?.trim() ?? ''
}

/** Whether a column holds the number of a cell with all its digits. */
function holdsExactly(cell: unknown, type: NumberType): boolean {
  const text = textOf(cell)
  if (type === 'f32') return isNonFinite(text) || (DECIMAL.test(text) && holdsDecimal(text))
  return WHOLE.test(text) && parses(text, type)
}

/**
 * Whether a value that a column took, of an inferred type, is that of the cell with all its digits.
 * @param cell neither null nor undefined
 */
export function keepsDigits(cell: unknown, type: ColumnType): boolean {
  return type === 'string' || isTruth(textOf(cell)) || holdsExactly(cell, type)
}

/** Six digits are right in any float of 32 bits, as are whole numbers of seven; else the float is asked for its own digits. */
function holdsDecimal(text: string): boolean {
  if (text.length <= 7 && !/e/i.test(text)) return true
  const value = Math.fround(Number(text))
  return Number.isFinite(value) && digitsOf(text) === digitsOf(showNumber(value, 'f32'))
}

/** A decimal number in its only form: sign, digits without zeros around them, and the power of ten. */
function digitsOf(text: string): string {
  const [, sign, whole, fraction, power = '0'] = /^(-?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text) ?? [
    undefined,
    '',
    '',
    '',
  ]
  const digits = `${whole}${fraction}`
  const short = digits.replace(/0+$/, '')
  const exponent = Number(power) - fraction.length + digits.length - short.length
  const significant = short.replace(/^0+/, '')
  return significant === '' ? '0' : `${sign}${significant}e${exponent}`
}

function parses(text: string, type: NumberType): boolean {
  try {
    parseNumber(text, type, '')
    return true
  } catch {
    return false
  }
}
