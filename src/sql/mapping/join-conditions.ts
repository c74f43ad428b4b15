import type { ColumnType } from '../../../protocol/column-types.js'
import type { Expression, QueryNode } from '../../../protocol/query/tree.js'
import type { PlanNode } from '../plan-json.js'
import { comparisonOf, mapExpression } from './expressions.js'
import type { Mapped, Mapping } from './mapping.js'
import { filled, isMissing, mayBeNull } from './nulls.js'
import { commonOf } from './types.js'

/** Two sides, and what brings rows of both together. */
export interface Sides {
  readonly left: Mapped
  readonly right: Mapped
  /** Pairs of values that are equal; nulls equal nothing. */
  readonly equal: readonly Pair[]
  /** Pairs of values that are equal or both null. */
  readonly same: readonly Pair[]
  /** Further conditions, over what the columns of both sides are by now. */
  readonly others: (left: Mapped, right: Mapped) => readonly Expression[]
}

const EQUAL = 'COMPARE_EQUAL'
const SAME = 'COMPARE_NOT_DISTINCT_FROM'

export type Pair = readonly [left: Expression, right: Expression]

/** What joins by: columns of both sides that are equal. */
export interface Keyed {
  readonly left: Mapped
  readonly right: Mapped
  readonly on: readonly (readonly [string, string])[]
}

/** The conditions of a COMPARISON_JOIN, a DELIM_JOIN or an ANY_JOIN. */
export function conditionsOf(node: PlanNode, left: Mapped, right: Mapped): Sides {
  const { conditions = [], condition, predicate } = node
  const pairs = (comparison: string) =>
    conditions
      .filter((each) => each.comparison === comparison)
      .map(
        (each) => [mapExpression(each.left, left.columns), mapExpression(each.right, right.columns)] as const,
      )
  const compared = conditions.filter(({ comparison }) => comparison !== EQUAL && comparison !== SAME)
  const whole = [condition, predicate].flatMap((each) => each ?? [])
  const others: Sides['others'] = (left, right) => [
    ...compared.map((each) =>
      comparisonOf(
        each.comparison,
        mapExpression(each.left, left.columns),
        mapExpression(each.right, right.columns),
      ),
    ),
    ...whole.map((each) => mapExpression(each, [...left.columns, ...right.columns])),
  ]
  return { left, right, equal: pairs(EQUAL), same: pairs(SAME), others }
}

/**
 * The sides with their keys as columns of one type each.
 */
export function keyed({ left, right, equal, same }: Sides, mapping: Mapping): Keyed {
  const keys = [...equal, ...same.flatMap((pair) => sameAsEqual(pair, left.node, right.node, mapping))]
  if (keys.length === 0)
    keys.push([
      { value: 0, type: 'u32' },
      { value: 0, type: 'u32' },
    ])
  const lefts = keys.map(([value]) => value)
  const rights = keys.map(([, value]) => value)
  const ownTypes = mapping.resultOf(left.node, lefts).map(({ type }) => type)
  const otherTypes = mapping.resultOf(right.node, rights).map(({ type }) => type)
  const one = mapping.withColumns(left, casts(lefts, ownTypes, otherTypes))
  const other = mapping.withColumns(right, casts(rights, otherTypes, ownTypes))
  const on = one.names.map((name, i) => [name, other.names[i]!] as const)
  return { left: one.mapped, right: other.mapped, on }
}

/** Values that meet others of a type of their own get the one that both go to. */
function casts(
  values: readonly Expression[],
  types: readonly ColumnType[],
  others: readonly ColumnType[],
): readonly Expression[] {
  return values.map((value, i): Expression => {
    if (types[i] === others[i]) return value
    const type = commonOf([types[i]!, others[i]!])
    return type === types[i] ? value : { op: 'cast', args: [value], type }
  })
}

/** Equality by which null is null, as equalities: where both may be null, of what stands for null and of whether it does. */
function sameAsEqual([left, right]: Pair, own: QueryNode, other: QueryNode, mapping: Mapping): Pair[] {
  if (!mayBeNull(own, left, mapping) || !mayBeNull(other, right, mapping)) return [[left, right]]
  const type = mapping.resultOf(own, [left])[0]!.type
  return [
    [filled(left, type), filled(right, type)],
    [isMissing(left), isMissing(right)],
  ]
}
