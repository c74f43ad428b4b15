import type { Aggregate, AggregateFunction, Expression } from '../../../protocol/query/tree.js'
import type { PlanAggregate, PlanExpression, PlanNode } from '../plan-json.js'
import { mapExpression } from './expressions.js'
import { type Mapped, type Mapping, refused } from './mapping.js'
import { groupsAround } from './rows-around.js'
import { isSingleRow } from './unique.js'

const FUNCTIONS: Readonly<Record<string, AggregateFunction>> = {
  count: 'count',
  count_star: 'count',
  sum: 'sum',
  sum_no_overflow: 'sum',
  min: 'min',
  max: 'max',
  avg: 'avg',
  mean: 'avg',
  stddev: 'stddev',
  stddev_samp: 'stddev',
  variance: 'variance',
  var_samp: 'variance',
  median: 'median',
  bool_and: 'min',
  bool_or: 'max',
  any_value: 'min',
  first: 'first',
}

/** AGGREGATE_AND_GROUP_BY: its keys, and behind them its aggregates. */
export function mapGroups(node: PlanNode, mapping: Mapping): Mapped {
  const { children, groups = [], expressions = [], grouping_sets = [], grouping_functions = [] } = node
  if (grouping_sets.length > 1 || grouping_functions.length > 0)
    throw refused('grouping by several sets (rollup, cube, grouping sets)', 'unite statements with union all')
  const input = mapping.map(children[0]!)
  const { columns } = input
  if (groups.length === 0 && isValue(expressions)) return onlyRow(expressions, input, mapping)
  const keys = groups.map((value) => ({ name: mapping.freshName(), value: mapExpression(value, columns) }))
  const aggregates = expressions.map((value) => aggregateOf(value, columns, mapping))
  const given = [...keys, ...aggregates].map(({ name }): Expression => ({ column: name }))
  if (given.length === 0) aggregates.push({ name: mapping.freshName(), function: 'count' })
  const group = { op: 'groupBy', input: input.node, keys, aggregates } as const
  return { node: groupsAround(group, mapping) ?? group, columns: given }
}

/** A subquery that is a value: the row that there is, or nulls. */
function onlyRow(expressions: readonly PlanExpression[], input: Mapped, mapping: Mapping): Mapped {
  if (!isSingleRow(input.node)) {
    throw refused(
      'a subquery that is a value, and may give more than one row,',
      'have it give an aggregate such as max, or end with limit 1',
    )
  }
  const { node, columns } = input
  // The row of a group that is always there needs no group around it.
  const isThere = node.op === 'groupBy'
  const aggregates = expressions.map((value) => aggregateOf(value, columns, mapping))
  if (!isThere) {
    const given = aggregates.map(({ name }): Expression => ({ column: name }))
    return { node: { op: 'groupBy', input: node, keys: [], aggregates }, columns: given }
  }
  return {
    node,
    columns: aggregates.map(({ function: name, value }) => (name === 'count' ? { value: 1 } : value!)),
  }
}

/** Whether it is what DuckDB makes of a subquery that is a value: its first row, and how many there are. */
function isValue(expressions: readonly PlanExpression[]): boolean {
  const names = expressions.map((each) => each.expression_class === 'BOUND_AGGREGATE' && each.name)
  return names.length === 2 && names[0] === 'first' && names[1] === 'count_star'
}

function aggregateOf(
  expression: PlanExpression,
  columns: readonly Expression[],
  mapping: Mapping,
): Aggregate {
  if (expression.expression_class !== 'BOUND_AGGREGATE') throw refused('an aggregate of that kind')
  const { name, children, aggregate_type, order_bys } = expression
  const fn = FUNCTIONS[name]
  if (fn === undefined) {
    const known = Object.keys(FUNCTIONS).filter((each) => !/_star|_no_|_samp/.test(each))
    throw refused(`the aggregate ${name}`, `there are ${known.join(', ')}`)
  }
  if (order_bys !== undefined && order_bys !== null) throw refused('an aggregate with an order')
  if (fn === 'first' && expression.filter) throw refused('first with a filter', 'filter in a subquery')
  const value = aggregated(expression, children[0], columns)
  // Of the least and the largest value it makes no difference.
  const distinct = aggregate_type === 'DISTINCT' && fn !== 'min' && fn !== 'max'
  return { name: mapping.freshName(), function: fn, value, distinct }
}

/** What is aggregated: of rows that a FILTER leaves out it is null. */
function aggregated(
  { filter }: PlanAggregate,
  child: PlanExpression | undefined,
  columns: readonly Expression[],
): Expression | undefined {
  const value = child === undefined ? undefined : mapExpression(child, columns)
  if (filter === undefined || filter === null) return value
  return { op: 'case', when: [{ condition: mapExpression(filter, columns), value: value ?? { value: 1 } }] }
}
