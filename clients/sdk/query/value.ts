import type { ColumnType } from '../../../protocol/column-types.js'
import { badRequest } from '../../../protocol/errors.js'
import type {
  AggregateFunction,
  ArithmeticOp,
  ComparisonOp,
  DateUnit,
  Expression,
  FunctionName,
  MatchKind,
} from '../../../protocol/query/tree.js'
import { shown, titleOf } from '../../../protocol/shown.js'
import { checkName } from '../call-options.js'

/** What an expression may be made of: another one, or a constant. */
export type Operand = Value | number | bigint | string | boolean | null

/** A value that a query computes for each row; columns are values by `col`, constants where they stand. */
export class Value {
  /** As it travels. */
  readonly expression: Expression

  constructor(expression: Expression) {
    this.expression = expression
  }

  eq(other: Operand): Value {
    return this.#with('=', other)
  }

  ne(other: Operand): Value {
    return this.#with('<>', other)
  }

  lt(other: Operand): Value {
    return this.#with('<', other)
  }

  le(other: Operand): Value {
    return this.#with('<=', other)
  }

  gt(other: Operand): Value {
    return this.#with('>', other)
  }

  ge(other: Operand): Value {
    return this.#with('>=', other)
  }

  /** From `least` to `most`, both included. */
  between(least: Operand, most: Operand): Value {
    return and(this.ge(least), this.le(most))
  }

  /**
   * Equal to one of these.
   * @param values a list, a set, a typed array
   * @throws WarpdexError `BAD_REQUEST` for anything else
   */
  in(values: Iterable<Operand>): Value {
    // A string could be taken for a list of its characters.
    if (typeof values === 'string' || typeof values?.[Symbol.iterator] !== 'function') {
      throw badRequest("in takes a list of values, as in(['MAIL', 'SHIP'])")
    }
    return new Value({ op: 'in', args: [this.expression, ...Array.from(values, expressionOf)] })
  }

  plus(other: Operand): Value {
    return this.#with('+', other)
  }

  minus(other: Operand): Value {
    return this.#with('-', other)
  }

  times(other: Operand): Value {
    return this.#with('*', other)
  }

  /** As `f64`, of two `f32` as `f32`; null where the other is 0. */
  over(other: Operand): Value {
    return this.#with('/', other)
  }

  and(other: Operand): Value {
    return and(this, other)
  }

  or(other: Operand): Value {
    return or(this, other)
  }

  not(): Value {
    return new Value({ op: 'not', args: [this.expression] })
  }

  isNull(): Value {
    return new Value({ op: 'isNull', args: [this.expression] })
  }

  startsWith(text: string): Value {
    return this.#matching('startsWith', text)
  }

  endsWith(text: string): Value {
    return this.#matching('endsWith', text)
  }

  contains(text: string): Value {
    return this.#matching('contains', text)
  }

  /** The rest of a division, with the sign of this one; null where the other is 0. */
  modulo(other: Operand): Value {
    return this.#with('%', other)
  }

  /** The quotient of integers, towards 0; null where the other is 0. */
  integerOver(other: Operand): Value {
    return this.#with('//', other)
  }

  abs(): Value {
    return this.#call('abs')
  }

  /** With the other sign; of integers an `i64`. */
  negate(): Value {
    return this.#call('negate')
  }

  /** The nearest number with so many digits behind the point (before it, where negative); of two the one that is farther from 0. */
  round(digits = 0): Value {
    return this.#call('round', digits)
  }

  floor(): Value {
    return this.#call('floor')
  }

  ceil(): Value {
    return this.#call('ceil')
  }

  year(): Value {
    return this.#call('year')
  }

  quarter(): Value {
    return this.#call('quarter')
  }

  month(): Value {
    return this.#call('month')
  }

  /** Of the month. */
  day(): Value {
    return this.#call('day')
  }

  /** 0 is Sunday. */
  dayOfWeek(): Value {
    return this.#call('dayOfWeek')
  }

  dayOfYear(): Value {
    return this.#call('dayOfYear')
  }

  hour(): Value {
    return this.#call('hour')
  }

  minute(): Value {
    return this.#call('minute')
  }

  /** Whole ones. */
  second(): Value {
    return this.#call('second')
  }

  /** Seconds since 1970, as `f64`. */
  epoch(): Value {
    return this.#call('epoch')
  }

  /** The timestamp at which the year, quarter, month, week (from Monday on), day, hour, minute or second of a date or timestamp begins. */
  dateTrunc(unit: DateUnit): Value {
    return new Value({ op: 'dateTrunc', args: [{ value: unit }, this.expression] })
  }

  /** The same day some months later, or before; the last of its month where that has fewer days. */
  addMonths(months: Operand): Value {
    return this.#call('addMonths', months)
  }

  addDays(days: Operand): Value {
    return this.#call('addDays', days)
  }

  /** A timestamp, also of a date. */
  addMicroseconds(microseconds: Operand): Value {
    return this.#call('addMicroseconds', microseconds)
  }

  /** In characters. */
  length(): Value {
    return this.#call('length')
  }

  /**
   * @param from the first character's place: 1 is the first of all, and -1 the last
   * @param length in characters; all that are left if it is not given
   */
  substring(from: number, length?: number): Value {
    return length === undefined ? this.#call('substring', from) : this.#call('substring', from, length)
  }

  upper(): Value {
    return this.#call('upper')
  }

  lower(): Value {
    return this.#call('lower')
  }

  /** This string and others behind it; null where one of them is, which they are not for `concat`. */
  append(...others: readonly Operand[]): Value {
    return this.#call('||', ...others)
  }

  /**
   * Matches a pattern, in which `%` is any characters, and `_` any one.
   * @param escaping a character that has the one behind it mean itself
   */
  like(pattern: string, escaping?: string): Value {
    return this.#matching('like', pattern, escaping)
  }

  as(type: ColumnType): Value {
    return new Value({ op: 'cast', args: [this.expression], type })
  }

  #call(op: FunctionName, ...others: readonly Operand[]): Value {
    return new Value({ op, args: [this.expression, ...others.map(expressionOf)] })
  }

  #with(op: ArithmeticOp | ComparisonOp | '%' | '//', other: Operand): Value {
    return new Value({ op, args: [this.expression, expressionOf(other)] })
  }

  #matching(op: MatchKind, text: string, escaping?: string): Value {
    if (typeof text !== 'string') throw badRequest(`${op} takes a text, not ${shown(text)}`)
    return new Value({
      op,
      args: [this.expression],
      text,
      ...(escaping !== undefined && { escape: escaping }),
    })
  }
}

/** A column of what a query's operator works on. */
export function col(name: string): Value {
  checkName(name, 'col', 'a column')
  return new Value({ column: name })
}

/** A constant where a value is needed, such as a column of a projection. */
export function constant(value: number | bigint | string | boolean | null, type?: ColumnType): Value {
  const { expression } = new Value(expressionOf(value))
  return new Value(type === undefined || !('value' in expression) ? expression : { ...expression, type })
}

export function and(...conditions: readonly Operand[]): Value {
  return new Value({ op: 'and', args: conditions.map(expressionOf) })
}

export function or(...conditions: readonly Operand[]): Value {
  return new Value({ op: 'or', args: conditions.map(expressionOf) })
}

/** The first of these that is not null; null where all are. */
export function coalesce(...values: readonly Operand[]): Value {
  return new Value({ op: 'coalesce', args: values.map(expressionOf) })
}

/** Strings one behind the other, without those that are null. */
export function concat(...strings: readonly Operand[]): Value {
  return new Value({ op: 'concat', args: strings.map(expressionOf) })
}

/** The value of the first condition that is true; null where none is and nothing is said for that. */
export function when(
  branches: readonly (readonly [condition: Operand, value: Operand])[],
  otherwise: Operand = null,
): Value {
  if (!Array.isArray(branches) || !branches.every(Array.isArray)) {
    const right = "a list of branches, as in when([[col('a').gt(3), 'many']], 'few')"
    throw badRequest(`when takes ${right}, not ${shown(branches)}`)
  }
  const listed = branches.map(([condition, value]) => ({
    condition: expressionOf(condition),
    value: expressionOf(value),
  }))
  return new Value({ op: 'case', when: listed, otherwise: expressionOf(otherwise) })
}

/** A value of a group's rows. */
export interface AggregateValue {
  readonly function: AggregateFunction
  readonly value?: Expression | undefined
  readonly distinct?: boolean | undefined
}

/** Rows, or rows that have a value. */
export function count(value?: Value | string): AggregateValue {
  return { function: 'count', value: value === undefined ? undefined : columnOrValue(value) }
}

export function sum(value: Value | string): AggregateValue {
  return { function: 'sum', value: columnOrValue(value) }
}

export function min(value: Value | string): AggregateValue {
  return { function: 'min', value: columnOrValue(value) }
}

export function max(value: Value | string): AggregateValue {
  return { function: 'max', value: columnOrValue(value) }
}

/** As `f64`. */
export function avg(value: Value | string): AggregateValue {
  return { function: 'avg', value: columnOrValue(value) }
}

/** The standard deviation of a sample, as `f64`; null of fewer than two values. */
export function stddev(value: Value | string): AggregateValue {
  return { function: 'stddev', value: columnOrValue(value) }
}

/** The variance of a sample, as `f64`; null of fewer than two values. */
export function variance(value: Value | string): AggregateValue {
  return { function: 'variance', value: columnOrValue(value) }
}

/** As `f64`. */
export function median(value: Value | string): AggregateValue {
  return { function: 'median', value: columnOrValue(value) }
}

/** That of the first row, null if that has none. */
export function first(value: Value | string): AggregateValue {
  return { function: 'first', value: columnOrValue(value) }
}

/** An aggregate in which each different value counts once: `distinct(count('a'))`. */
export function distinct(aggregate: AggregateValue): AggregateValue {
  return { ...aggregate, distinct: true }
}

/** A column by its name, or a value. */
export function columnOrValue(value: Value | string): Expression {
  return typeof value === 'string' ? { column: value } : expressionOf(value)
}

/**
 * Numbers past 2^53 travel as digits.
 * @throws WarpdexError `BAD_REQUEST` for what no query can hold
 */
export function expressionOf(operand: Operand): Expression {
  if (operand instanceof Value) return operand.expression
  if (typeof operand !== 'bigint') {
    if (operand === null || CONSTANT_TYPES.includes(typeof operand)) return { value: operand }
    throw badRequest(
      `${titleOf(operand)} is not a value of a query; use a number, a bigint, a text, true, false, null, or what col and its methods give`,
    )
  }
  const small = operand >= Number.MIN_SAFE_INTEGER && operand <= Number.MAX_SAFE_INTEGER
  if (small) return { value: Number(operand) }
  if (operand >= 2n ** 64n) return { value: Math.min(Math.max(Number(operand), PAST_ALL), Number.MAX_VALUE) }
  if (operand < -(2n ** 63n))
    return { value: Math.max(Math.min(Number(operand), -PAST_ALL), -Number.MAX_VALUE) }
  return { value: String(operand), type: operand >= 2n ** 63n ? 'u64' : 'i64' }
}

/**
 * Past all integers that a query holds, whichever number it was rounded from: what is past them compares with all of them alike, so a number that has
 * lost digits does.
 */
const PAST_ALL = 2 ** 64 + 2 ** 12

const CONSTANT_TYPES: readonly string[] = ['number', 'string', 'boolean']
