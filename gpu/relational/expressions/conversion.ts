import {
  type ColumnType,
  columnWords,
  DECIMAL_DIGITS,
  decimalShape,
  RESULT_DIGITS,
  storageOf,
} from '../../../protocol/column-types.js'
import { goesWithoutFault, isFloat } from '../../../protocol/query/value-types.js'
import {
  DIVISION,
  DIVISION_128,
  isZero,
  MULTIPLICATION,
  MULTIPLICATION_128,
  strict,
  truth,
} from './operators.js'
import { constantBits } from './ordered-numbers.js'
import { ROUNDING, type Rounding } from './rounding.js'
import type { RowText } from './row-text.js'
import type { RowValue } from './row-value.js'

/*
 * Values of one type as ones of another. What that does not have is a fault. Floats go to the nearest integer, of two to the even one, and decimals and what becomes
 * one to that which is farther from 0, as in DuckDB.
 */

export function conversion(code: RowText, a: RowValue, type: ColumnType): RowValue {
  if (type === 'boolean') return truth(code, `!(${isZero(a)})`, [a])
  if (type === 'f64') return asDouble(code, a)
  if (type === 'f32') return asFloat(code, a)
  if (a.type === 'timestamp' && type === 'date') {
    return strict(code, type, `${code.use('dates', 'moment_of')}(${a.value}).days`, [a])
  }
  const wide = isFloat(a.type) ? wholeOf(code, a, type) : rescaled(code, a, type)
  return withDigits(code, fitting(code, wide, type), a.type)
}

/** A number as f64. */
export function asDouble(code: RowText, a: RowValue): RowValue {
  if (a.type === 'f64') return a
  code.weigh(DIVISION)
  if (a.type === 'f32') {
    return strict(code, 'f64', `${code.use('double', 'float_to_double')}(${a.value})`, [a])
  }
  const scale = scaleOf(a.type)
  if (a.words === 4) {
    const power = code.constant(10n ** BigInt(scale), 4).value
    return strict(code, 'f64', `${code.use('averages', 'average_as_double')}(${a.value}, ${power})`, [a])
  }
  const value = extended(code, a)
  const result =
    scale === 0
      ? `${code.use('double', 'integer_to_double')}(${value}, ${isSigned(a.type)})`
      : `${code.use('double', 'decimal_to_double')}(${value}, ${powerOfTen(code, scale)})`
  return strict(code, 'f64', result, [a])
}

/** Of 128 bits a number is rounded to f64 before. */
function asFloat(code: RowText, a: RowValue): RowValue {
  if (a.type === 'f64') {
    const float = nearestFloat(code, a)
    const isInfinite = `(${float.value} & 0x7fffffffu) == 0x7f800000u`
    return strict(code, 'f32', float.value, [a], `(${isInfinite}) & ${isFiniteDouble(a)}`)
  }
  if (a.words === 4) return nearestFloat(code, asDouble(code, a))
  code.weigh(MULTIPLICATION)
  const value = extended(code, a)
  const scale = scaleOf(a.type)
  const result =
    scale === 0
      ? `bitcast<u32>(${code.use('wide', 'integer_to_float')}(${value}, ${isSigned(a.type)}))`
      : `${code.use('divide', 'divide_integers')}(${value}, ${powerOfTen(code, scale)}, true)`
  return strict(code, 'f32', result, [a])
}

/** An f64 as the nearest f32, infinite where it is too large. */
export function nearestFloat(code: RowText, a: RowValue): RowValue {
  code.weigh(MULTIPLICATION)
  return strict(code, 'f32', `${code.use('double', 'double_to_float')}(${a.value})`, [a])
}

/** WGSL of whether an f64 is neither infinite nor NaN. */
export function isFiniteDouble({ value }: RowValue): string {
  return `((${value}.y & 0x7fffffffu) < 0x7ff00000u)`
}

/** A float as the integer of two words or four that a type is stored as, or would be. */
function wholeOf(code: RowText, a: RowValue, type: ColumnType): RowValue {
  const own = asDouble(code, a)
  const decimal = decimalShape(type)
  const power = decimal && code.constant(constantBits(10 ** decimal.scale, 'f64'), 2).value
  const value = decimal?.scale
    ? code.let(`${code.use('double', 'multiply_doubles')}(${own.value}, ${power})`)
    : own.value
  const rounding = ROUNDING[decimal === undefined ? 'even' : 'away']
  code.weigh(DIVISION)
  if (columnWords(type) === 4) {
    const whole = code.let(`${code.use('integers128', 'double_to_128')}(${value}, ${rounding})`)
    return strict(code, 'i128', `${whole}.value`, [own], `${whole}.overflow`)
  }
  const toWide = code.use('rounding', 'double_to_wide')
  const whole = code.let(`${toWide}(${value}, ${rounding}, ${isSigned(type)})`)
  return strict(code, isSigned(type) ? 'i64' : 'u64', `${whole}.value`, [own], `${whole}.overflow`)
}

const DAY_MICROSECONDS = 86_400_000_000n

/** A value that is no float as an integer of two words, or four if either type has so many, that counts what another type counts. What is past these is a fault. */
function rescaled(code: RowText, a: RowValue, type: ColumnType): RowValue {
  const wide = columnWords(type) === 4 ? to128(code, a) : toWide(code, a)
  const digits = scaleOf(type) - scaleOf(a.type)
  if (digits < 0) return scaledDown(code, wide, -digits, 'away')
  const factor = a.type === 'date' && type === 'timestamp' ? DAY_MICROSECONDS : 10n ** BigInt(digits)
  return factor === 1n ? wide : scaled(code, signed(code, wide), factor)
}

/** What a value that is no float is stored as, as i64 or u64, or i128 if it has as many bits. */
export function toWide(code: RowText, a: RowValue): RowValue {
  if (a.words === 4) return { ...a, type: 'i128' }
  return { ...a, type: isSigned(a.type) ? 'i64' : 'u64', words: 2, value: code.let(extended(code, a)) }
}

/** The same as i128. */
export function to128(code: RowText, a: RowValue): RowValue {
  const wide = toWide(code, a)
  if (wide.words === 4) return wide
  const { type, value } = wide
  const long =
    type === 'u64' ? `vec4u(${value}, 0u, 0u)` : `${code.use('integers128', 'wide_to_128')}(${value})`
  return { ...wide, type: 'i128', words: 4, value: code.let(long) }
}

/** An integer of two words or four, multiplied. What is past these is a fault. */
export function scaled(code: RowText, a: RowValue, factor: bigint): RowValue {
  code.weigh(a.words === 4 ? MULTIPLICATION_128 : MULTIPLICATION)
  const multiply =
    a.words === 4
      ? code.use('integers128', 'product_128')
      : code.use('wide', isSigned(a.type) ? 'multiply_signed' : 'multiply_unsigned')
  const product = code.let(`${multiply}(${a.value}, ${code.constant(factor, a.words).value})`)
  return strict(code, a.type, `${product}.value`, [a], `${product}.overflow`)
}

/** An integer of two words or four divided by a power of ten. */
export function scaledDown(code: RowText, a: RowValue, digits: number, rounding: Rounding): RowValue {
  if (a.words === 4) {
    code.weigh(DIVISION_128)
    const power = code.constant(10n ** BigInt(digits), 4).value
    const shorter = `${code.use('integers128', 'scaled_down_128')}(${a.value}, ${power}, ${ROUNDING[rounding]})`
    return strict(code, a.type, shorter, [a])
  }
  code.weigh(DIVISION)
  const scaledDown = code.use('wholes', 'scaled_down')
  const power = powerOfTen(code, digits)
  return strict(
    code,
    a.type,
    `${scaledDown}(${a.value}, ${power}, ${ROUNDING[rounding]}, ${isSigned(a.type)})`,
    [a],
  )
}

/** An integer of two words or four, i64, u64 or i128, as a value of a type that counts the same. */
export function fitting(code: RowText, a: RowValue, type: ColumnType): RowValue {
  const { value } = a
  if (columnWords(type) === 4) return { ...to128(code, a), type }
  if (a.words === 4) return fitting(code, shortened(code, a, type), type)
  const isNegative = () => `${code.use('wide', 'is_negative')}(${value})`
  switch (storageOf(type)) {
    case 'u32':
      return strict(code, type, `${value}.x`, [a], `${value}.y != 0u`)
    case 'i32': {
      const isOther = `${value}.y != select(0u, 0xffffffffu, (${value}.x & 0x80000000u) != 0u)`
      return strict(
        code,
        type,
        `${value}.x`,
        [a],
        a.type === 'u64' ? `${isNegative()} | (${isOther})` : isOther,
      )
    }
    case 'u64':
      return strict(code, type, value, [a], a.type === 'u64' ? undefined : isNegative())
    default:
      return { ...signed(code, a), type }
  }
}

/** An i128 as u64 or i64, whichever the type is stored as. */
function shortened(code: RowText, a: RowValue, type: ColumnType): RowValue {
  const { value } = a
  if (storageOf(type) === 'u64') return strict(code, 'u64', `${value}.xy`, [a], `any(${value}.zw != vec2u())`)
  const isPast = `any(${value} != ${code.use('integers128', 'wide_to_128')}(${value}.xy))`
  return strict(code, 'i64', `${value}.xy`, [a], isPast)
}

/** Past 2^63 is a fault. */
function signed(code: RowText, a: RowValue): RowValue {
  if (a.type !== 'u64') return a
  return strict(code, 'i64', a.value, [a], `${code.use('wide', 'is_negative')}(${a.value})`)
}

/** More digits than a decimal, or an i128, has are a fault; of the most that a stored one may have, only what is past 64 bits. */
export function withDigits(code: RowText, a: RowValue, from?: ColumnType): RowValue {
  const digits = decimalShape(a.type)?.precision ?? (a.words === 4 ? RESULT_DIGITS : DECIMAL_DIGITS)
  if (digits === DECIMAL_DIGITS || (from !== undefined && goesWithoutFault(from, a.type))) return a
  if (a.words === 4) {
    const most = code.constant(10n ** BigInt(digits) - 1n, 4).value
    const [less, magnitude] = ['less_128', 'magnitude_128'].map((name) => code.use('integers128', name))
    return strict(code, a.type, a.value, [a], `${less}(${most}, ${magnitude}(${a.value}))`)
  }
  // As unsigned numbers those between both ends come first then.
  const most = 10n ** BigInt(digits) - 1n
  const shifted = `${code.use('wide', 'add_wide')}(${a.value}, ${code.constant(most, 2).value})`
  const isPast = `${code.use('wide', 'less_wide')}(${code.constant(2n * most, 2).value}, ${shifted})`
  return strict(code, a.type, a.value, [a], isPast)
}

/** WGSL of an integer of up to two words as two. */
function extended(code: RowText, { type, words, value }: RowValue): string {
  if (words === 2) return value
  return storageOf(type) === 'i32' ? `${code.use('values', 'extended')}(${value})` : `vec2u(${value}, 0u)`
}

function isSigned(type: ColumnType): boolean {
  return type !== 'u32' && type !== 'u64' && type !== 'boolean'
}

function scaleOf(type: ColumnType): number {
  return decimalShape(type)?.scale ?? 0
}

function powerOfTen(code: RowText, digits: number): string {
  return code.constant(10n ** BigInt(digits), 2).value
}
