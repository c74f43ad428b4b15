import { columnWords, decimalShape, storageOf } from '../../../protocol/column-types.js'
import type { NumberFunction } from '../../../protocol/query/tree.js'
import {
  asDouble,
  fitting,
  isFiniteDouble,
  nearestFloat,
  scaled,
  scaledDown,
  toWide,
  withDigits,
} from './conversion.js'
import type { FunctionCall, FunctionCode } from './function-code.js'
import { DIVISION, divided, strict } from './operators.js'
import { constantBits } from './ordered-numbers.js'
import { ROUNDING, type Rounding } from './rounding.js'
import type { RowText } from './row-text.js'
import { type RowValue, wgslType } from './row-value.js'

export const NUMBER_CODES: Readonly<Record<Exclude<NumberFunction, 'negate'>, FunctionCode>> = {
  '%': (code, [a, b]) => remainder(code, a!, b!),
  '//': (code, [a, b]) => wholeQuotient(code, a!, b!),
  abs: (code, [a]) => absolute(code, a!),
  round: rounding('away'),
  floor: rounding('down'),
  ceil: rounding('up'),
}

function remainder(code: RowText, a: RowValue, b: RowValue): RowValue {
  const { type } = a
  if (type === 'f64' || type === 'f32') {
    const [x, y] = [asDouble(code, a), asDouble(code, b)]
    const rest = code.use('rounding', 'double_remainder')
    const result = divided(code, 'f64', [x, y], `${rest}(${x.value}, ${y.value})`)
    // What is left of floats is one, too.
    return type === 'f64' ? result : nearestFloat(code, result)
  }
  return divided(code, type, [a, b], `${wholeDivision(code, a, b)}.rest`)
}

function wholeQuotient(code: RowText, a: RowValue, b: RowValue): RowValue {
  const isLeast = `all(${a.value} == vec2u(0u, 0x80000000u)) & all(${b.value} == vec2u(0xffffffffu))`
  const quotient = `${wholeDivision(code, a, b)}.quotient`
  return divided(code, a.type, [a, b], quotient, a.type === 'i64' ? isLeast : undefined)
}

function wholeDivision(code: RowText, a: RowValue, b: RowValue): string {
  if (a.words === 4) return `${code.use('integers128', 'divide_128')}(${a.value}, ${b.value})`
  return `${code.use('wholes', 'divide_whole')}(${a.value}, ${b.value}, ${a.type !== 'u64'})`
}

function rounding(way: Rounding): FunctionCode {
  return (code, [a], call) => {
    const digits = digitsOf(call)
    if (a!.type === 'f64') return roundedDouble(code, a!, digits, way)
    if (a!.type === 'f32') return nearestFloat(code, roundedDouble(code, asDouble(code, a!), digits, way))
    return roundedInteger(code, a!, digits, way, call)
  }
}

/** The constant behind the value. */
function digitsOf({ args: [, digits] }: FunctionCall): number {
  return digits?.kind === 'constant' ? Number(digits.value) : 0
}

/** A product or a quotient is rounded, and divided or multiplied again, as in DuckDB; what would be no number by that stays as it is. */
function roundedDouble(code: RowText, a: RowValue, digits: number, way: Rounding): RowValue {
  code.weigh(DIVISION)
  const round = code.use('rounding', 'whole_double')
  if (digits === 0) return strict(code, 'f64', `${round}(${a.value}, ${ROUNDING[way]})`, [a])
  code.weigh(2 * DIVISION)
  const power = code.constant(constantBits(10 ** Math.abs(digits), 'f64'), 2).value
  const [before, behind] = ['multiply_doubles', 'divide_doubles'].map((name) => code.use('double', name))
  const [scale, restore] = digits > 0 ? [before, behind] : [behind, before]
  const whole = `${round}(${scale}(${a.value}, ${power}), ${ROUNDING[way]})`
  const result = code.computed('f64', `${restore}(${whole}, ${power})`)
  return strict(code, 'f64', `select(${a.value}, ${result.value}, ${isFiniteDouble(result)})`, [a])
}

/** Of more digits than this less than half is left of any integer, by its words. */
const MOST_LOST = { 1: 19, 2: 19, 4: 39 } as const

/** Integers, and decimals as those that they are stored as. */
function roundedInteger(
  code: RowText,
  a: RowValue,
  digits: number,
  way: Rounding,
  { type }: FunctionCall,
): RowValue {
  const lost = (decimalShape(a.type)?.scale ?? 0) - digits
  if (lost > MOST_LOST[a.words]) return strict(code, type, `${wgslType(columnWords(type))}()`, [a])
  const shorter = scaledDown(code, toWide(code, a), lost, way)
  const zeros = 10n ** BigInt((decimalShape(type)?.scale ?? 0) - digits)
  const whole = fitting(code, zeros === 1n ? shorter : scaled(code, shorter, zeros), type)
  return a.words === 4 ? withDigits(code, whole) : whole
}

function absolute(code: RowText, a: RowValue): RowValue {
  const { type, value } = a
  switch (storageOf(type)) {
    case 'f32':
      return strict(code, type, `${value} & 0x7fffffffu`, [a])
    case 'f64':
      return strict(code, type, `${code.use('double', 'double_magnitude')}(${value})`, [a])
    case 'i32':
      return strict(code, type, `u32(abs(bitcast<i32>(${value})))`, [a], `${value} == 0x80000000u`)
    case 'i64': {
      const negative = `${code.use('wide', 'is_negative')}(${value})`
      const magnitude = `select(${value}, ${code.use('wide', 'negate_wide')}(${value}), ${negative})`
      const isLeast = `all(${value} == vec2u(0u, 0x80000000u))`
      return strict(code, type, magnitude, [a], isLeast)
    }
    case 'i128':
      return strict(code, type, `${code.use('integers128', 'magnitude_128')}(${value})`, [a])
    default:
      return a
  }
}
