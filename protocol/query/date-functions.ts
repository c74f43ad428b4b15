import { constantAs, integer } from './constants.js'
import { type Call, called, type FunctionRule } from './function-rule.js'
import { type ArithmeticOp, DATE_PARTS, DATE_UNITS, type DateFunction } from './tree.js'
import { hasNulls, type Pair, type TypedExpression } from './typed.js'
import { converted, isInteger } from './value-types.js'

const DAY_MICROSECONDS = 86_400_000_000n

/** As i64, of the epoch as f64: a timestamp has parts of a second. */
const PART: FunctionRule = {
  takes: [1, 1],
  check: (call) => {
    const args = [dated(call, call.args[0]!)]
    return called({ ...call, args }, call.name === 'epoch' ? 'f64' : 'i64')
  },
}

export const DATE_RULES: Readonly<Record<DateFunction, FunctionRule>> = {
  ...(Object.fromEntries(DATE_PARTS.map((part) => [part, PART])) as Record<
    (typeof DATE_PARTS)[number],
    FunctionRule
  >),
  /** A unit, and what is to be the beginning of one: a timestamp, also of a date. */
  dateTrunc: {
    takes: [2, 2],
    check: (call) => {
      const [unit, value] = call.args
      if (unit?.kind !== 'constant' || !DATE_UNITS.some((known) => known === unit.value)) {
        throw call.reader.fault(`"dateTrunc" begins with one of ${DATE_UNITS.join(', ')}, as a constant`)
      }
      const args = [unit, converted(dated(call, value!), 'timestamp')!]
      return called({ ...call, args }, 'timestamp')
    },
  },
  /** The same day some months later, or the last of its month where that has fewer days. */
  addMonths: {
    takes: [2, 2],
    check: (call) => {
      const args = [dated(call, call.args[0]!), whole(call, call.args[1]!)]
      return called({ ...call, args }, args[0]!.type)
    },
  },
  addDays: {
    takes: [2, 2],
    check: (call) => daysLater('+', dated(call, call.args[0]!), whole(call, call.args[1]!)),
  },
  /** A timestamp, also of a date. */
  addMicroseconds: {
    takes: [2, 2],
    check: (call) => {
      const moment = converted(dated(call, call.args[0]!), 'timestamp')!
      return arithmetic('+', [moment, whole(call, call.args[1]!)], 'timestamp')
    },
  },
}

/**
 * Days that are added to a date or taken from one, and the days between two dates.
 * @returns undefined for all else
 */
export function dateArithmetic(op: ArithmeticOp, [left, right]: Pair): TypedExpression | undefined {
  if (op !== '+' && op !== '-') return undefined
  if (left.type === 'date' && isInteger(right.type)) return daysBeside(op, left, right)
  if (op === '+')
    return right.type === 'date' && isInteger(left.type) ? daysBeside(op, right, left) : undefined
  const days = [left, right].flatMap((side) => inDays(side) ?? [])
  const isDate = left.type === 'date' || right.type === 'date'
  return isDate && days.length === 2 ? arithmetic('-', [days[0]!, days[1]!], 'i64') : undefined
}

function daysBeside(
  op: '+' | '-',
  date: TypedExpression,
  days: TypedExpression,
): TypedExpression | undefined {
  const whole = converted(days, 'i64')
  return whole && daysLater(op, date, whole)
}

/** @param days as i64 */
function daysLater(op: '+' | '-', value: TypedExpression, days: TypedExpression): TypedExpression {
  if (value.type === 'timestamp') {
    return arithmetic(op, [value, arithmetic('*', [days, integer(DAY_MICROSECONDS)], 'i64')], 'timestamp')
  }
  const moved = arithmetic(op, [inDays(value)!, days], 'i64')
  return { kind: 'convert', args: [moved], type: 'date', nullable: moved.nullable }
}

/** The days since 1970 of a date, or of a constant that can be one. */
function inDays(value: TypedExpression): TypedExpression | undefined {
  const date = value.kind === 'constant' ? constantAs(value, 'date') : value
  if (date?.type !== 'date') return undefined
  return { kind: 'convert', args: [date], type: 'i64', nullable: date.nullable }
}

function arithmetic(op: ArithmeticOp, args: Pair, type: TypedExpression['type']): TypedExpression {
  return { kind: 'arithmetic', op, args, type, nullable: hasNulls(args) }
}

function dated({ reader, name }: Call, value: TypedExpression): TypedExpression {
  if (value.type === 'date' || value.type === 'timestamp') return value
  const constant = value.kind === 'constant' && (constantAs(value, 'date') ?? constantAs(value, 'timestamp'))
  if (constant) return constant
  throw reader.fault(`"${name}" needs a date or a timestamp, not ${value.type}`)
}

function whole({ reader, name }: Call, value: TypedExpression): TypedExpression {
  const number = isInteger(value.type) || value.kind === 'constant' ? converted(value, 'i64') : undefined
  if (number !== undefined) return number
  throw reader.fault(`"${name}" needs a whole number behind the date, not ${value.type}`)
}
