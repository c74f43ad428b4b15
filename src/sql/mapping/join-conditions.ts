import type { ColumnType } from '../../../protocol/column-types.js'
import type { Expression, QueryNode } from '../../../protocol/query/tree.js'
import type { PlanNode } from '../plan-json.js'
import { comparisonOf, isNull, mapExpression } from './expressions.js'
import type { Mapped, Mapping } from './mapping.js'
import { mayBeNull } from './nulls.js'
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
  const instead: Expression = { value: STANDS_FOR_NULL[type] ?? '0', type }
  const filled = (value: Expression): Expression => ({ op: 'coalesce', args: [value, instead] })
  const isMissing = (value: Expression): Expression => ({
    op: 'case',
    when: [{ condition: isNull(value), value: { value: 1, type: 'u32' } }],
    otherwise: { value: 0, type: 'u32' },
  })
  return [
    [filled(left), filled(right)],
    [isMissing(left), isMissing(right)],
  ]
}

const STANDS_FOR_NULL: Readonly<Partial<Record<ColumnType, number | string | boolean>>> = {
  boolean: false,
  string: '',
  date: '1970-01-01',
  timestamp: '1970-01-01',
  u32: 0,
  i32: 0,
  f32: 0,
  f64: 0,
}
