import type { Expression } from '../../../protocol/query/tree.js'
import type { PlanNode } from '../plan-json.js'
import { mapExpression } from './expressions.js'
import { type Mapped, type Mapping, refused } from './mapping.js'

/** MATERIALIZED_CTE: what is named, and what names it. */
export function mapCte({ children, table_index = 0 }: PlanNode, mapping: Mapping): Mapped {
  mapping.ctes.set(table_index, mapping.exact(mapping.map(children[0]!)))
  return mapping.map(children[1]!)
}

/** CTE_REF: by names of its own, since it may meet itself. */
export function mapCteRef({ cte_index = 0 }: PlanNode, mapping: Mapping): Mapped {
  const named = mapping.ctes.get(cte_index)
  if (named === undefined) throw refused('a common table expression that names itself')
  return mapping.exact(named)
}

/**
 * Both sides of a join. That of a DELIM_JOIN is a correlated subquery on one side: its DELIM_GET has the different values that columns of the other side
 * have.
 */
export function mapSides(node: PlanNode, mapping: Mapping): readonly [left: Mapped, right: Mapped] {
  const [left, right] = node.children
  const { duplicate_eliminated_columns: values = [], delim_flipped: flipped } = node
  if (values.length === 0) return [mapping.map(left!), mapping.map(right!)]
  const outside = mapping.map(flipped ? right! : left!)
  mapping.outer.push(
    differentRows(
      outside,
      values.map((value) => mapExpression(value, outside.columns)),
      mapping,
    ),
  )
  const inside = mapping.map(flipped ? left! : right!)
  mapping.outer.pop()
  return flipped ? [inside, outside] : [outside, inside]
}

/** DELIM_GET. */
export function mapOuter({ chunk_types = [] }: PlanNode, mapping: Mapping): Mapped {
  const outer = mapping.outer.at(-1)
  if (outer?.columns.length !== chunk_types.length) throw refused('a subquery that is correlated like this')
  return mapping.exact(outer)
}

/** The different combinations of some values, each once. */
function differentRows({ node }: Mapped, values: readonly Expression[], mapping: Mapping): Mapped {
  const keys = values.map((value) => ({ name: mapping.freshName(), value }))
  return {
    node: { op: 'groupBy', input: node, keys, aggregates: [] },
    columns: keys.map(({ name }) => ({ column: name })),
  }
}
