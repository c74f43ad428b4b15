import { constantAs } from './constants.js'
import type { ValueType } from './tree.js'
import type { TypedExpression } from './typed.js'

/** Types to which values of a type go without loss, or, for `f32`, with no more than rounding. */
const WIDER: Readonly<Record<ValueType, readonly ValueType[]>> = {
  u32: ['u64', 'i64', 'f32'],
  i32: ['i64', 'f32'],
  u64: ['f32'],
  i64: ['f32'],
  f32: [],
  string: [],
  boolean: [],
}

/** In the order in which a common type of integers is looked for. */
const INTEGERS: readonly ValueType[] = ['u32', 'i32', 'u64', 'i64']

/** Whether every value of a type has one in another, if rounded to `f32`. */
export function goesWithoutFault(from: ValueType, to: ValueType): boolean {
  return from === to || WIDER[from].includes(to)
}

export function isNumeric(type: ValueType): boolean {
  return type !== 'string' && type !== 'boolean'
}

export function isInteger(type: ValueType): boolean {
  return INTEGERS.includes(type)
}

/**
 * An expression as one of another type, if nothing but rounding to `f32` can be lost by that; undefined if not. Constants take any
 * type that they fit.
 */
export function converted(expression: TypedExpression, type: ValueType): TypedExpression | undefined {
  if (expression.kind === 'constant') return constantAs(expression, type)
  if (expression.type === type) return expression
  if (!WIDER[expression.type].includes(type)) return undefined
  return { kind: 'convert', args: [expression], type, nullable: expression.nullable }
}

/**
 * The narrowest type that all expressions can be converted to, of one at least; undefined if there is none. Constants follow what they meet; floats are
 * for what has one among them.
 */
export function commonType([first, ...others]: readonly TypedExpression[]): ValueType | undefined {
  let widest = first!
  for (const other of others) {
    const [met, type] = [widest.kind === 'constant' ? other : widest, commonOfTwo(widest, other)]
    if (type === undefined) return undefined
    widest = converted(met, type)!
  }
  return widest.type
}

function commonOfTwo(a: TypedExpression, b: TypedExpression): ValueType | undefined {
  const met = a.kind === 'constant' ? b : a
  return [met.type, ...INTEGERS, a.type, b.type].find(
    (type) => converted(a, type) !== undefined && converted(b, type) !== undefined,
  )
}

/** Whether both can be converted to some type of integers. */
export function haveCommonInteger(a: TypedExpression, b: TypedExpression): boolean {
  return INTEGERS.some((type) => converted(a, type) !== undefined && converted(b, type) !== undefined)
}
