import { type ColumnType, decimalShape, storageOf } from '../../../protocol/column-types.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { INTEGER_RANGES } from '../../../protocol/query/integer-ranges.js'
import type { ConstantValue, TypedExpression } from '../../../protocol/query/typed.js'
import { parseText } from '../../../protocol/value-texts.js'

/** A function of one string, or two. */
export interface TextFunctionOf {
  /** Undefined for a fault. */
  readonly of: (one: string, other: string) => Exclude<ConstantValue, null> | undefined
  /** Whether a null counts as a string of no characters. */
  readonly takesNull?: boolean
}

/** The function of strings that a call, or a cast of strings, computes. */
export function textFunctionOf(
  expression: Extract<TypedExpression, { kind: 'call' | 'convert' }>,
): TextFunctionOf {
  if (expression.kind === 'convert') return castOf(expression.type)
  switch (expression.function) {
    case 'length':
      return { of: (text) => BigInt(charactersOf(text).length) }
    case 'upper':
      return { of: upper }
    case 'lower':
      return { of: lower }
    case 'substring': {
      const [from, length] = expression.args.slice(1).map((part) => Number('value' in part && part.value))
      return { of: (text) => substring(text, from!, length) }
    }
    case '||':
      return { of: (one, other) => one + other }
    case 'concat':
      return { of: (one, other) => one + other, takesNull: true }
    default:
      throw new WarpdexError('INTERNAL', `${expression.function} is not a function of strings`)
  }
}

const PAIRS = /[\ud800-\udbff]/
const ASCII = /^[\0-\x7f]*$/

/** Characters, in a form that has a length and slices. */
function charactersOf(text: string): string | readonly string[] {
  return PAIRS.test(text) ? Array.from(text) : text
}

function substring(text: string, from: number, length: number | undefined): string {
  const characters = charactersOf(text)
  const first = from > 0 ? from - 1 : from < 0 ? characters.length + from : -1
  const end = length === undefined ? characters.length : first + length
  // A negative length goes to the left.
  const [low, high] = [Math.max(0, Math.min(first, end)), Math.max(0, first, end)]
  const part = characters.slice(low, high)
  return typeof part === 'string' ? part : part.join('')
}

/** A character's other case is one character, as in DuckDB. */
function lower(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  return Array.from(text, (character) => Array.from(character.toLowerCase())[0]).join('')
}

function upper(text: string): string {
  if (ASCII.test(text)) return text.toUpperCase()
  return Array.from(text, (character) => {
    const other = character.toUpperCase()
    return Array.from(other).length === 1 ? other : (largeOf().get(character) ?? character)
  }).join('')
}

let largeLetters: Map<string, string> | undefined

/** Letters that become several ones by themselves, such as ß, and those that become them. All are below U+2000. */
function largeOf(): ReadonlyMap<string, string> {
  if (largeLetters !== undefined) return largeLetters
  largeLetters = new Map()
  for (let point = 0x80; point < 0x2000; point++) {
    const large = String.fromCodePoint(point)
    const small = large.toLowerCase()
    if (small !== large && small.length === 1) largeLetters.set(small, large)
  }
  return largeLetters
}

/** Of a number that is cast, so that none takes long. */
const MOST_CHARACTERS = 400
const NUMBER = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,4}))?$/i
const NO_NUMBER = /^[+-]?(?:nan|inf(?:inity)?)$/i
const TRUTHS: Readonly<Record<string, boolean>> = {
  true: true,
  t: true,
  yes: true,
  y: true,
  '1': true,
  false: false,
  f: false,
  no: false,
  n: false,
  '0': false,
}

function castOf(type: ColumnType): TextFunctionOf {
  if (type === 'boolean') return { of: (text) => TRUTHS[text.toLowerCase()] }
  if (type === 'date' || type === 'timestamp') return { of: (text) => parseText(text.trim(), type) }
  if (type === 'f32') return { of: (text) => floatOf(text, Math.fround) }
  if (type === 'f64') return { of: (text) => floatOf(text, Number) }
  const { scale, precision } = decimalShape(type) ?? { scale: 0, precision: 0 }
  const most = 10n ** BigInt(precision) - 1n
  const [least, last] = precision > 0 ? [-most, most] : INTEGER_RANGES[storageOf(type)]!
  return {
    of: (text) => {
      const value = scaledOf(text, scale)
      return value !== undefined && value >= least && value <= last ? value : undefined
    },
  }
}

function floatOf(text: string, rounded: (value: number) => number): number | undefined {
  const trimmed = text.trim()
  if (NO_NUMBER.test(trimmed)) {
    if (/nan/i.test(trimmed)) return Number.NaN
    return trimmed.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  }
  return digitsOf(trimmed) && rounded(Number(trimmed))
}

/** The parts of a number's text; undefined for what is none. */
function digitsOf(text: string) {
  if (text.length > MOST_CHARACTERS) return undefined
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? []
  return whole + fraction === '' ? undefined : { sign, whole, fraction, exponent: Number(exponent) }
}

/** A number times a power of ten, rounded to a whole one, the half away from zero. */
function scaledOf(text: string, scale: number): bigint | undefined {
  const parts = digitsOf(text.trim())
  if (parts === undefined) return undefined
  const { sign, whole, fraction, exponent } = parts
  const digits = BigInt(whole + fraction)
  const zeros = exponent + scale - fraction.length
  if (digits !== 0n && zeros > MOST_ZEROS) return undefined
  const magnitude = zeros >= 0 ? digits * 10n ** BigInt(Math.min(zeros, MOST_ZEROS)) : halved(digits, -zeros)
  return sign === '-' ? -magnitude : magnitude
}

/** Behind the digits of a number that some type holds. */
const MOST_ZEROS = 40

function halved(digits: bigint, places: number): bigint {
  const unit = 10n ** BigInt(places)
  return (digits + unit / 2n) / unit
}
