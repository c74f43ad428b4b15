import { type ColumnType, columnWords, storageOf } from '../../../protocol/column-types.js'
import { WarpdexError } from '../../../protocol/errors.js'
import type { ArithmeticOp, ComparisonOp } from '../../../protocol/query/tree.js'
import type { RowText } from './row-text.js'
import { type RowValue, wgslType } from './row-value.js'

/*
 * What operators come to in generated code. Of a null comes a null, even beside a fault; else of a fault a fault. Faults go where values go, so that
 * only those count that a row's result depends on.
 */

/** Statements that something takes, roughly, which is a function of a library. */
export const MULTIPLICATION = 20
export const DIVISION = 60
export const MULTIPLICATION_128 = 150
export const DIVISION_128 = 150

/** The order of a type's values as that of unsigned numbers. */
export function ordered(code: RowText, value: RowValue): RowValue {
  switch (storageOf(value.type)) {
    case 'f32':
      return named(code, value, `${code.use('order', 'ordered_float')}(${value.value})`)
    case 'f64':
      return named(code, value, `${code.use('order', 'ordered_double')}(${value.value})`)
    case 'i32':
      return named(code, value, `${value.value} ^ 0x80000000u`)
    case 'i64':
      return named(code, value, `${value.value} ^ vec2u(0u, 0x80000000u)`)
    case 'i128':
      return named(code, value, `${value.value} ^ vec4u(0u, 0u, 0u, 0x80000000u)`)
    default:
      return value
  }
}

/** What `ordered` did is undone. */
export function restored(code: RowText, value: RowValue): RowValue {
  const { type } = value
  if (type !== 'f32' && type !== 'f64') return ordered(code, value)
  const restore = code.use('order', type === 'f32' ? 'restored_float' : 'restored_double')
  return named(code, value, `${restore}(${value.value})`)
}

/** Both operands of one type, or decimals, whose result is of another. */
export function arithmetic(
  code: RowText,
  op: ArithmeticOp,
  type: ColumnType,
  [a, b]: readonly [RowValue, RowValue],
): RowValue {
  if (op === '/') return quotient(code, a, b)
  if (type === 'f32') return floatArithmetic(code, op, a, b)
  if (type === 'f64') return doubleArithmetic(code, op, a, b)
  const isSigned = storageOf(type) === 'i64'
  if (!isSigned && type !== 'u64') throw new WarpdexError('INTERNAL', `no arithmetic is done in ${type}`)
  const [x, y] = [a.value, b.value]
  if (op === '*') {
    code.weigh(MULTIPLICATION)
    const multiply = code.use('wide', isSigned ? 'multiply_signed' : 'multiply_unsigned')
    const product = code.let(`${multiply}(${x}, ${y})`)
    return strict(code, type, `${product}.value`, [a, b], `${product}.overflow`)
  }
  const result = code.let(`${code.use('wide', op === '+' ? 'add_wide' : 'subtract_wide')}(${x}, ${y})`)
  if (isSigned) {
    const overflows = code.use('values', op === '+' ? 'addition_overflows' : 'subtraction_overflows')
    return strict(code, type, result, [a, b], `${overflows}(${x}, ${y}, ${result})`)
  }
  const less = code.use('wide', 'less_wide')
  return strict(code, type, result, [a, b], op === '+' ? `${less}(${result}, ${x})` : `${less}(${x}, ${y})`)
}

function floatArithmetic(code: RowText, op: Exclude<ArithmeticOp, '/'>, a: RowValue, b: RowValue): RowValue {
  const result = `bitcast<u32>(bitcast<f32>(${a.value}) ${op} bitcast<f32>(${b.value}))`
  // A product that a sum takes at once may be rounded only there. A zero that nobody knows beforehand stands between them.
  return strict(code, 'f32', op === '*' ? `${result} ^ ${code.word(0)}` : result, [a, b])
}

const DOUBLE_FUNCTIONS = { '+': 'add_doubles', '-': 'subtract_doubles', '*': 'multiply_doubles' } as const

function doubleArithmetic(code: RowText, op: Exclude<ArithmeticOp, '/'>, a: RowValue, b: RowValue): RowValue {
  code.weigh(DIVISION)
  return strict(code, 'f64', `${code.use('double', DOUBLE_FUNCTIONS[op])}(${a.value}, ${b.value})`, [a, b])
}

/** Of floats. */
function quotient(code: RowText, a: RowValue, b: RowValue): RowValue {
  const divide = a.type === 'f32' ? code.use('divide', 'divide_floats') : code.use('double', 'divide_doubles')
  return divided(code, a.type, [a, b], `${divide}(${a.value}, ${b.value})`)
}

/**
 * What is computed of a dividend and a divisor: null where that is 0, whatever is divided.
 * @param fails whether it is a fault
 */
export function divided(
  code: RowText,
  type: ColumnType,
  [a, b]: readonly [RowValue, RowValue],
  expression: string,
  fails?: string,
): RowValue {
  code.weigh(DIVISION)
  const zero = isZero(b)
  const some = code.let(b.fault === undefined ? `!(${zero})` : `${b.fault} | !(${zero})`)
  const valid = code.let(every([a.valid, b.valid, some])!)
  const words = columnWords(type)
  const result = code.name()
  code.emit(`var ${result} = ${wgslType(words)}();`, `if (${valid}) { ${result} = ${expression}; }`)
  const fault = anyFault(code, [a.fault, b.fault, fails], valid)
  return { type, words, value: result, valid, fault, dictionary: undefined }
}

/** WGSL of whether a number is 0. */
export function isZero({ type, words, value }: RowValue): string {
  if (type === 'f32') return `(${value} & 0x7fffffffu) == 0u`
  if (type === 'f64') return `all((${value} & vec2u(0xffffffffu, 0x7fffffffu)) == vec2u())`
  return `all(${value} == ${wgslType(words)}())`
}

/** Both of one type; strings by the numbers of one dictionary, or ranks. */
export function comparison(code: RowText, op: ComparisonOp, left: RowValue, right: RowValue): RowValue {
  const isSwapped = op === '>' || op === '<='
  const [a, b] = isSwapped ? [right, left] : [left, right]
  const isTurned = op === '<>' || op === '<=' || op === '>='
  const isEqual = op === '=' || op === '<>'
  // Both zeros are equal, and NaN has a place: floats are compared by their order, integers as they are.
  const isFloat = a.type === 'f32' || a.type === 'f64'
  const [x, y] = isFloat ? [ordered(code, a).value, ordered(code, b).value] : [a.value, b.value]
  const answer = isEqual ? `all(${x} == ${y})` : less(code, a.type, x, y)
  return truth(code, isTurned ? `!(${answer})` : answer, [a, b])
}

function less(code: RowText, type: ColumnType, x: string, y: string): string {
  switch (storageOf(type)) {
    case 'i32':
      return `bitcast<i32>(${x}) < bitcast<i32>(${y})`
    case 'i64':
      return `${code.use('values', 'less_signed')}(${x}, ${y})`
    case 'i128':
      return `${code.use('integers128', 'less_signed_128')}(${x}, ${y})`
    case 'u64':
    case 'f64':
      return `${code.use('wide', 'less_wide')}(${x}, ${y})`
    default:
      return `${x} < ${y}`
  }
}

/** A boolean for a WGSL bool that follows from values. */
export function truth(code: RowText, bool: string, from: readonly RowValue[]): RowValue {
  const value = `select(0u, 1u, ${bool})`
  const { valid, fault } = strictly(code, from)
  // The word of a fault: it may be either.
  return code.computed('boolean', fault === undefined ? value : `select(${value}, 0u, ${fault})`, {
    valid,
    fault,
  })
}

export function logic(code: RowText, kind: 'and' | 'or', a: RowValue, b: RowValue): RowValue {
  if (isPlain(a) && isPlain(b))
    return code.computed('boolean', `${a.value} ${kind === 'and' ? '&' : '|'} ${b.value}`)
  const combine = kind === 'and' ? 'min' : 'max'
  return ofTruth(code, `${combine}(${truthOf(code, a)}, ${truthOf(code, b)})`, [a, b])
}

export function negation(code: RowText, a: RowValue): RowValue {
  if (a.fault === undefined) return code.computed('boolean', `${a.value} ^ 1u`, { valid: a.valid })
  return ofTruth(code, `vec2u(2u) - ${truthOf(code, a)}.yx`, [a])
}

function truthOf(code: RowText, { value, valid = 'true', fault = 'false' }: RowValue): string {
  return `${code.use('values', 'truth_of')}(${value}, ${valid}, ${fault})`
}

function ofTruth(code: RowText, expression: string, from: readonly RowValue[]): RowValue {
  const ends = code.let(expression)
  const isFallible = from.some(({ fault }) => fault !== undefined)
  const fault = isFallible ? code.let(`${ends}.x != ${ends}.y`) : undefined
  const isNull = `all(${ends} == vec2u(1u))`
  const valid = from.some((value) => value.valid !== undefined || isFallible)
    ? code.let(`!${isNull}`)
    : undefined
  return code.computed('boolean', `${code.use('values', 'truth_word')}(${ends})`, { valid, fault })
}

export function isNull(code: RowText, a: RowValue): RowValue {
  const { fault } = a
  const value = a.valid === undefined ? '0u' : `select(1u, 0u, ${a.valid})`
  return code.computed('boolean', value, { fault })
}

/** A boolean that is never null: true where another one is, and where that is a fault that may be true, which it is then too. */
export function isTrue(code: RowText, a: RowValue): RowValue {
  const open = isOpen(code, a)
  const known = taken(a)
  const value = open === undefined ? known : `(${known}) | ${open}`
  return code.computed('boolean', `select(0u, 1u, ${value})`, { fault: open })
}

export function choice(code: RowText, condition: RowValue, a: RowValue, b: RowValue): RowValue {
  const isFirst = code.let(taken(condition))
  const open = isOpen(code, condition)
  const one = (first: string | undefined, second: string | undefined, otherwise: string) => {
    if (first === undefined && second === undefined) return undefined
    return first === second ? first : `select(${second ?? otherwise}, ${first ?? otherwise}, ${isFirst})`
  }
  const valid = one(a.valid, b.valid, 'true')
  const fault = one(a.fault, b.fault, 'false')
  const chosen = `select(${b.value}, ${a.value}, ${isFirst})`
  const isWord = open !== undefined && a.type === 'boolean'
  return code.computed(a.type, isWord ? `select(${chosen}, 0u, ${open})` : chosen, {
    valid: valid && code.let(open === undefined ? valid : `${open} | ${valid}`),
    fault:
      open === undefined && fault === undefined
        ? undefined
        : code.let([open, fault].filter(Boolean).join(' | ')),
    dictionary: a.dictionary,
  })
}

/** A value that is null or a fault where those that it follows from are, and a fault where something else is true. */
export function strict(
  code: RowText,
  type: ColumnType,
  expression: string,
  from: readonly RowValue[],
  fails?: string,
): RowValue {
  return code.computed(type, expression, strictly(code, from, fails))
}

function strictly(
  code: RowText,
  from: readonly RowValue[],
  fails?: string,
): Pick<RowValue, 'valid' | 'fault'> {
  const all = every(from.map(({ valid }) => valid))
  const valid = all && code.let(all)
  return { valid, fault: anyFault(code, [...from.map(({ fault }) => fault), fails], valid) }
}

function named(code: RowText, value: RowValue, expression: string): RowValue {
  return { ...value, value: code.let(expression) }
}

/** Whether a boolean is true, and no fault. */
function taken({ value, valid, fault }: RowValue): string {
  return [...(valid ? [valid] : []), ...(fault ? [`!${fault}`] : []), `(${value} != 0u)`].join(' & ')
}

/** Whether a boolean is a fault that may be true. */
function isOpen(code: RowText, { value, fault }: RowValue): string | undefined {
  return fault && code.let(`${fault} & ${code.use('values', 'may_be_true')}(${value})`)
}

function isPlain({ valid, fault }: RowValue): boolean {
  return valid === undefined && fault === undefined
}

function every(bools: readonly (string | undefined)[]): string | undefined {
  return [...new Set(bools.filter((bool) => bool !== undefined))].join(' & ') || undefined
}

function anyFault(
  code: RowText,
  bools: readonly (string | undefined)[],
  valid: string | undefined,
): string | undefined {
  const all = [...new Set(bools.filter((bool) => bool !== undefined))]
  if (all.length === 0) return undefined
  const any = all.map((bool) => `(${bool})`).join(' | ')
  return code.let(valid === undefined ? any : `${valid} & (${any})`)
}
