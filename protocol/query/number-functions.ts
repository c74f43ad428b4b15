import { type ColumnType, DECIMAL_DIGITS, decimalShape, decimalType } from '../column-types.js'
import { freeNumber } from './constants.js'
import { type Call, called, type FunctionRule, numeric } from './function-rule.js'
import type { NumberFunction } from './tree.js'
import type { Pair, TypedExpression } from './typed.js'
import { unified } from './unify.js'
import { converted, isInteger, wideType } from './value-types.js'

/** Digits behind the point, or before it, to which numbers are rounded. */
const MOST_DIGITS = DECIMAL_DIGITS

export const NUMBER_RULES: Readonly<Record<NumberFunction, FunctionRule>> = {
  /** The rest of a division, with the sign of the dividend; null for a divisor of 0. */
  '%': {
    takes: [2, 2],
    check: (call) => {
      const args = alikeNumbers(call)
      return called({ ...call, args }, args[0].type, true)
    },
  },
  /** The quotient of integers, towards 0; null for a divisor of 0. */
  '//': {
    takes: [2, 2],
    check: (call) => {
      const args = alikeNumbers(call)
      const { type } = args[0]
      if (isInteger(type)) return called({ ...call, args }, type, true)
      throw call.reader.fault(`"//" needs integers, not ${type}; "floor" of "/" is a whole number, too`)
    },
  },
  /** In the type of its argument; of the least integer it is a fault. */
  abs: {
    takes: [1, 1],
    check: (call) => called(call, numeric(call, call.args[0]!).type),
  },
  /** Of integers of up to 64 bits an i64. */
  negate: {
    takes: [1, 1],
    check: (call) => negated(numeric(call, call.args[0]!)),
  },
  /** Half away from 0, to a whole number or to so many digits behind the point. */
  round: { takes: [1, 2], check: rounded },
  floor: { takes: [1, 1], check: rounded },
  ceil: { takes: [1, 1], check: rounded },
}

function alikeNumbers(call: Call): Pair {
  const pair: Pair = [numeric(call, call.args[0]!), numeric(call, call.args[1]!)]
  const args = unified(call.reader, pair, call.columns)
  const type = wideType(args[0].type)
  return [converted(args[0], type)!, converted(args[1], type)!]
}

/** Times −1, which keeps the signs of zeros. */
function negated(value: TypedExpression): TypedExpression {
  const type = value.type === 'u64' ? 'i64' : wideType(value.type)
  const { nullable } = value
  const signed: TypedExpression =
    value.type === 'u64' ? { kind: 'convert', args: [value], type, nullable } : converted(value, type)!
  const isDecimal = decimalShape(type) !== undefined
  const factor = converted(freeNumber(-1), isDecimal ? decimalType(1, 0) : type)!
  return { kind: 'arithmetic', op: '*', args: [signed, factor], type, nullable }
}

/** What is rounded stays of its type; decimals lose the digits that they no longer need. */
function rounded(call: Call): TypedExpression {
  const value = numeric(call, call.args[0]!)
  const digits = digitsOf(call)
  const { type } = value
  const isRounded = isInteger(type)
    ? digits < 0
    : digits < (decimalShape(type)?.scale ?? Number.POSITIVE_INFINITY)
  if (!isRounded) return value
  const { nullable } = value
  const args = [value, freeNumber(digits)]
  return { kind: 'call', function: call.name, args, type: roundedType(type, digits), nullable }
}

function roundedType(type: ColumnType, digits: number): ColumnType {
  const shape = decimalShape(type)
  return shape === undefined ? type : decimalType(shape.precision, Math.max(0, digits))
}

function digitsOf({ reader, name, args: [, digits] }: Call): number {
  if (digits === undefined) return 0
  const isWhole = digits.kind === 'constant' && isInteger(digits.type) && digits.value !== null
  const number = isWhole ? Number(digits.value) : Number.NaN
  if (Math.abs(number) <= MOST_DIGITS) return number
  throw reader.fault(`"${name}" needs a constant number of digits from -${MOST_DIGITS} to ${MOST_DIGITS}`)
}
