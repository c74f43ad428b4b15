import { orderedNumber, restoredNumber } from '../../../gpu/relational/expressions/ordered-numbers.js'
import { between, unionOf } from '../../../gpu/relational/expressions/value-sets.js'
import type { ValueSet } from '../../../gpu/relational/selection/selection-types.js'
import { type ColumnType, columnWords } from '../../../protocol/column-types.js'
import { constantAs } from '../../../protocol/query/constants.js'
import type { TypedExpression } from '../../../protocol/query/typed.js'
import { goesWithoutFault } from '../../../protocol/query/value-types.js'
import { type ColumnDomain, lastValue } from './column-domain.js'

type ColumnExpression = Extract<TypedExpression, { kind: 'column' }>

/** The column under conversions that keep the order of values and cannot fail; undefined for all else, and for columns of 128 bits, of which no sets are tested. */
export function convertedColumn(expression: TypedExpression): ColumnExpression | undefined {
  if (expression.kind === 'column') return columnWords(expression.type) === 4 ? undefined : expression
  if (expression.kind !== 'convert') return undefined
  const [inner] = expression.args
  return goesWithoutFault(inner.type, expression.type) ? convertedColumn(inner) : undefined
}

/** The values of a column that are in a set once they are converted, which keeps their order: those of an interval are neighbours. */
export function sourceSet(domain: ColumnDomain, type: ColumnType, set: ValueSet): ValueSet {
  if (domain.type === type || domain.type === 'string') return set
  const end = lastValue(domain) + 1n
  const convert = converter(domain.type, type)
  let next = 0n
  const sets = set.intervals.map(({ low, high }) => {
    const first = firstAtLeast(low, next, end, convert)
    next = firstAtLeast(high + 1n, first, end, convert)
    return between(first, next - 1n)
  })
  return { intervals: unionOf(sets).intervals, nulls: set.nulls }
}

/** A number that stands for a value of one type as that of another. What is between the two keeps integers as they are, so that only the last one matters. */
function converter(from: Exclude<ColumnType, 'string'>, to: ColumnType): (ordered: bigint) => bigint {
  return (ordered) => {
    const value = restoredNumber(ordered, from)
    const constant = constantAs({ kind: 'constant', value, type: from, nullable: false }, to)
    if (constant !== undefined) return orderedNumber(constant.value as bigint | number, to)
    // Only integers of more digits than a decimal has lack one, which no column holds.
    return BigInt(value) < 0n ? 0n : lastValue({ type: to, dictionary: undefined })
  }
}

/** The first number from `low` on that is not below a bound when it is converted; `end` if there is none. */
function firstAtLeast(bound: bigint, low: bigint, end: bigint, convert: (ordered: bigint) => bigint): bigint {
  let first = low
  let after = end
  while (first < after) {
    const middle = (first + after) >> 1n
    if (convert(middle) < bound) first = middle + 1n
    else after = middle
  }
  return first
}
