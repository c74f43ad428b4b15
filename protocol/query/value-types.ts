import {
  type ColumnType,
  DECIMAL_DIGITS,
  type DecimalShape,
  decimalShape,
  decimalType,
  RESULT_DIGITS,
} from '../column-types.js'
import { constantAs, digitsOf } from './constants.js'
import { INTEGER_RANGES } from './integer-ranges.js'
import type { TypedExpression } from './typed.js'

/** Types to which values of a type go without loss, or, for floats, with no more than rounding. */
const WIDER: Readonly<Partial<Record<ColumnType, readonly ColumnType[]>>> = {
  u32: ['u64', 'i64', 'i128', 'f32', 'f64'],
  i32: ['i64', 'i128', 'f32', 'f64'],
  u64: ['i128', 'f32', 'f64'],
  i64: ['i128', 'f32', 'f64'],
  i128: ['f32', 'f64'],
  f32: ['f64'],
}

/** In the order in which a common type of integers is looked for. */
const INTEGERS: readonly ColumnType[] = ['u32', 'i32', 'u64', 'i64']

/** Whether every value of a type has one in another, if rounded to a float. */
export function goesWithoutFault(from: ColumnType, to: ColumnType): boolean {
  if (from === to || WIDER[from]?.includes(to) === true) return true
  const [own, other] = [shapeOfType(from), decimalShape(to)]
  if (own === undefined) return false
  if (other === undefined) return isFloat(to)
  return own.scale <= other.scale && own.precision - own.scale <= other.precision - other.scale
}

/** Whether values of a type can be had as those of another, where those that it lacks are faults, and nothing else is lost. */
function goesTo(from: ColumnType, to: ColumnType): boolean {
  if (goesWithoutFault(from, to)) return true
  if (from === 'date') return to === 'timestamp'
  const [own, other] = [shapeOfType(from), decimalShape(to)]
  return own !== undefined && other !== undefined && own.scale <= other.scale
}

export function isNumeric(type: ColumnType): boolean {
  return isInteger(type) || isFloat(type) || decimalShape(type) !== undefined
}

export function isInteger(type: ColumnType): boolean {
  return INTEGER_RANGES[type] !== undefined
}

/** The type that integers of a type are computed in; others stay. */
export function wideType(type: ColumnType): ColumnType {
  return type === 'u32' || type === 'i32' ? 'i64' : type
}

export function isFloat(type: ColumnType): type is 'f32' | 'f64' {
  return type === 'f32' || type === 'f64'
}

/**
 * An expression as one of another type, if nothing but rounding to a float can be lost by that; undefined if not. What decimals cannot hold is a fault then.
 * Constants take any type that they fit.
 */
export function converted(expression: TypedExpression, type: ColumnType): TypedExpression | undefined {
  if (expression.kind === 'constant') return constantAs(expression, type)
  if (expression.type === type) return expression
  if (!goesTo(expression.type, type)) return undefined
  return { kind: 'convert', args: [expression], type, nullable: expression.nullable }
}

/**
 * The narrowest type that all expressions can be converted to, of one at least; undefined if there is none. Constants follow what they meet; floats are
 * for what has one among them.
 */
export function commonType([first, ...others]: readonly TypedExpression[]): ColumnType | undefined {
  let widest = first!
  for (const other of others) {
    const [met, type] = [widest.kind === 'constant' ? other : widest, commonOfTwo(widest, other)]
    if (type === undefined) return undefined
    widest = converted(met, type)!
  }
  return widest.type
}

function commonOfTwo(a: TypedExpression, b: TypedExpression): ColumnType | undefined {
  const met = a.kind === 'constant' ? b : a
  const decimal = commonDecimal(a, b)
  // A constant takes the type of what it meets, unless it has more digits.
  const isMixed = decimal !== undefined && a.kind !== 'constant' && b.kind !== 'constant'
  const candidates = [...(isMixed ? [decimal] : []), met.type, ...INTEGERS, a.type, b.type]
  if (decimal !== undefined) candidates.push(decimal)
  return candidates.find((type) => converted(a, type) !== undefined && converted(b, type) !== undefined)
}

/** The decimals that have all digits of both, up to `mostDigits`; undefined where neither is a decimal, or one is no exact number. */
function commonDecimal(a: TypedExpression, b: TypedExpression): ColumnType | undefined {
  if (decimalShape(a.type) === undefined && decimalShape(b.type) === undefined) return undefined
  const [one, other] = [shapeOf(a), shapeOf(b)]
  if (one === undefined || other === undefined) return undefined
  const scale = Math.max(one.scale, other.scale)
  const whole = Math.max(one.precision - one.scale, other.precision - other.scale)
  const most = mostDigits(one, other)
  return scale > most ? undefined : decimalType(Math.min(whole + scale, most), scale)
}

/** Digits of what is made of two decimals, at most: as in DuckDB they are those of 64 bits if both have no more. */
export function mostDigits(one: DecimalShape, other: DecimalShape): number {
  return Math.max(one.precision, other.precision) > DECIMAL_DIGITS ? RESULT_DIGITS : DECIMAL_DIGITS
}

/** The digits of an expression's values; undefined for what is no exact number. */
export function shapeOf(expression: TypedExpression): DecimalShape | undefined {
  const own = expression.kind === 'constant' ? digitsOf(expression) : undefined
  return own ?? shapeOfType(expression.type)
}

function shapeOfType(type: ColumnType): DecimalShape | undefined {
  const most = isInteger(type) ? INTEGER_RANGES[type]?.[1] : undefined
  return most === undefined ? decimalShape(type) : { precision: String(most).length, scale: 0 }
}

/** Whether both can be converted to some type of integers, of 128 bits only if one is. */
export function haveCommonInteger(a: TypedExpression, b: TypedExpression): boolean {
  const types = [...INTEGERS, ...[a.type, b.type].filter(isInteger)]
  return types.some((type) => converted(a, type) !== undefined && converted(b, type) !== undefined)
}
