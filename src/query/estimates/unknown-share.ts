import { complement } from '../../../gpu/relational/expressions/value-sets.js'
import type { Condition, ValueSet } from '../../../gpu/relational/selection/selection-types.js'
import type { TypedExpression } from '../../../protocol/query/typed.js'
import { type ColumnDomain, lastValue } from '../conditions/column-domain.js'

/** Shares of rows for which something is thought to be true, where nothing is known of the values. */
const SHARE = { equal: 0.1, range: 1 / 3, found: 0.1, other: 0.5 }

/** The share of rows for which a condition is thought to be true, where nothing is known of the values. */
export function unknownShare(
  condition: Exclude<Condition, { kind: 'any' }>,
  columns: readonly ColumnDomain[],
): number {
  switch (condition.kind) {
    case 'values':
      return setShare(condition.set, columns[condition.column]!)
    case 'match':
      return condition.negated ? 1 - SHARE.found : SHARE.found
    case 'expression':
      return expressionShare(condition.expression)
  }
}

function setShare(set: ValueSet, domain: ColumnDomain): number {
  const last = lastValue(domain)
  const nulls = set.nulls && domain.nullable ? SHARE.equal : 0
  // Strings are known by their numbers: each is thought to come as often as the others.
  if (domain.type === 'string' || domain.type === 'boolean') {
    const values = set.intervals.reduce((sum, { low, high }) => sum + Number(high - low) + 1, 0)
    return Math.min(1, nulls + values / Math.max(1, Number(last) + 1))
  }
  const points = pointsOf(set)
  if (points !== undefined) return Math.min(SHARE.other, points * SHARE.equal + nulls)
  const missing = pointsOf(complement(set, last))
  if (missing !== undefined) return Math.max(SHARE.other, 1 - missing * SHARE.equal)
  return SHARE.range
}

/** How many values a set has, if it has nothing but single ones. */
function pointsOf({ intervals }: ValueSet): number | undefined {
  return intervals.every(({ low, high }) => low === high) ? intervals.length : undefined
}

function expressionShare(condition: TypedExpression): number {
  switch (condition.kind) {
    case 'and':
      return expressionShare(condition.args[0]) * expressionShare(condition.args[1])
    case 'or':
      return Math.min(1, expressionShare(condition.args[0]) + expressionShare(condition.args[1]))
    case 'not':
      return 1 - expressionShare(condition.args[0])
    case 'comparison':
      if (condition.op === '=') return SHARE.equal
      return condition.op === '<>' ? 1 - SHARE.equal : SHARE.range
    default:
      return SHARE.other
  }
}
