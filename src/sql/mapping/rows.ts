import type { QueryNode, SortColumn } from '../../../protocol/query/tree.js'
import type { PlanBound, PlanNode, PlanOrder } from '../plan-json.js'
import { mapExpression } from './expressions.js'
import { chosen, type Mapped, type Mapping, refused, whereAll } from './mapping.js'

/** PROJECTION: what is computed is put into what uses it, up to some size. */
export function mapProjection({ children, expressions = [] }: PlanNode, mapping: Mapping): Mapped {
  const { node, columns } = mapping.map(children[0]!)
  return mapping.settled({ node, columns: expressions.map((value) => mapExpression(value, columns)) })
}

/** FILTER of an input that is mapped. */
export function filtered({ expressions = [], projection_map }: PlanNode, input: Mapped): Mapped {
  const conditions = expressions.map((condition) => mapExpression(condition, input.columns))
  return chosen(whereAll(input, conditions), projection_map)
}

/** ORDER_BY. */
export function mapOrder({ children, orders = [], projection_map }: PlanNode, mapping: Mapping): Mapped {
  return chosen(ordered(mapping.map(children[0]!), orders, mapping), projection_map)
}

/** TOP_N. */
export function mapTop({ children, orders = [], limit, offset }: PlanNode, mapping: Mapping): Mapped {
  const { node, columns } = ordered(mapping.map(children[0]!), orders, mapping)
  return { node: limited(node, Number(limit), Number(offset ?? 0)), columns }
}

/** LIMIT. */
export function mapLimit({ children, limit_val, offset_val }: PlanNode, mapping: Mapping): Mapped {
  const { node, columns } = mapping.map(children[0]!)
  return { node: limited(node, boundOf(limit_val), boundOf(offset_val) ?? 0), columns }
}

/** DISTINCT. */
export function mapDistinct({ children, distinct_type }: PlanNode, mapping: Mapping): Mapped {
  if (distinct_type === 'DISTINCT_ON')
    throw refused('distinct on', 'group by its columns, and take min or max of the others')
  const input = mapping.exact(mapping.map(children[0]!))
  return { node: { op: 'distinct', input: input.node }, columns: input.columns }
}

function ordered(input: Mapped, orders: readonly PlanOrder[], mapping: Mapping): Mapped {
  const values = orders.map(({ expression }) => mapExpression(expression, input.columns))
  const { mapped, names } = mapping.withColumns(input, values)
  const by = orders.map(
    ({ type, null_order }, i): SortColumn => ({
      column: names[i]!,
      descending: type === 'DESCENDING',
      nulls: null_order === 'NULLS FIRST' ? 'first' : 'last',
    }),
  )
  return { node: { op: 'orderBy', input: mapped.node, by }, columns: mapped.columns }
}

function limited(input: QueryNode, rows: number | undefined, offset: number): QueryNode {
  return { op: 'limit', input, rows, offset }
}

function boundOf(bound: PlanBound | undefined): number | undefined {
  if (bound === undefined || bound.type === 'UNSET') return undefined
  if (bound.type !== 'CONSTANT_VALUE') throw refused('a limit that is not a constant', 'give it as a number')
  return Number(bound.constant_integer)
}
