import type { Interval, ValueSet } from '../../../gpu/relational/selection/selection-types.js'
import { roundedToFloat } from '../../../protocol/query/constants.js'
import type { ValueType } from '../../../protocol/query/tree.js'
import type { TypedExpression } from '../../../protocol/query/typed.js'
import { goesWithoutFault } from '../../../protocol/query/value-types.js'
import { type ColumnFacts, lastValue, orderedNumber, restoredNumber } from './column-domain.js'
import { between, unionOf } from './value-sets.js'

type ColumnExpression = Extract<TypedExpression, { kind: 'column' }>

/** The column under conversions that keep the order of values and cannot fail; undefined for all else. */
export function convertedColumn(expression: TypedExpression): ColumnExpression | undefined {
  if (expression.kind === 'column') return expression
  if (expression.kind !== 'convert') return undefined
  const [inner] = expression.args
  return goesWithoutFault(inner.type, expression.type) ? convertedColumn(inner) : undefined
}

/**
 * The values of a column that are in a set once they are converted. What is between the two types keeps integers as they are, so that only the
 * last one matters.
 */
export function sourceSet(facts: ColumnFacts, type: ValueType, set: ValueSet): ValueSet {
  if (facts.type === type) return set
  const restored =
    type === 'f32' ? roundedFrom(facts, set.intervals) : sameIntegers(facts, type, set.intervals)
  return { intervals: restored, nulls: set.nulls }
}

function sameIntegers(facts: ColumnFacts, type: ValueType, intervals: readonly Interval[]): Interval[] {
  const offset = integerAt(0n, type) - integerAt(0n, facts.type)
  const last = lastValue(facts)
  return intervals.flatMap(({ low, high }) => {
    const [from, to] = [low + offset, high + offset]
    return between(from < 0n ? 0n : from, to > last ? last : to).intervals
  })
}

/** Rounding keeps the order, so the integers that come to lie between two floats are neighbours. */
function roundedFrom(facts: ColumnFacts, intervals: readonly Interval[]): readonly Interval[] {
  const end = lastValue(facts) + 1n
  let next = 0n
  const sets = intervals.map(({ low, high }) => {
    const first = firstAtLeast(low, next, end, facts.type)
    next = firstAtLeast(high + 1n, first, end, facts.type)
    return between(first, next - 1n)
  })
  return unionOf(sets).intervals
}

/** The first number from `low` on whose float is not below a bound; `end` if there is none. */
function firstAtLeast(bound: bigint, low: bigint, end: bigint, type: ValueType): bigint {
  let first = low
  let after = end
  while (first < after) {
    const middle = (first + after) >> 1n
    if (orderedNumber(roundedToFloat(integerAt(middle, type)), 'f32') < bound) first = middle + 1n
    else after = middle
  }
  return first
}

function integerAt(ordered: bigint, type: ValueType): bigint {
  return BigInt(restoredNumber(ordered, type === 'string' ? 'u32' : type))
}
