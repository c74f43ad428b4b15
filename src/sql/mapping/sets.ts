import type { Expression, QueryNode, SetOperator } from '../../../protocol/query/tree.js'
import type { PlanNode } from '../plan-json.js'
import type { Mapped, Mapping } from './mapping.js'
import { commonOf } from './types.js'

/** UNION, INTERSECT and EXCEPT: sides whose columns differ in their types get those that both go to. */
export function mapSets(op: SetOperator): (node: PlanNode, mapping: Mapping) => Mapped {
  return ({ children, setop_all: all = false }, mapping) => {
    const sides = children.map((child) => mapping.map(child))
    const typed = alikeSides(sides, mapping).map((side) => mapping.exact(side))
    // The first side's names are those of the result, so that the others need none of their own.
    const [first, ...others] = typed
    const node = others.reduce<QueryNode>((left, { node: right }) => ({ op, left, right, all }), first!.node)
    return { node, columns: first!.columns }
  }
}

function alikeSides(sides: readonly Mapped[], mapping: Mapping): readonly Mapped[] {
  const results = sides.map(({ node, columns }) => mapping.resultOf(node, columns))
  const types = results[0]!.map((_, i) => {
    const met = results.map((columns) => columns[i]!.type)
    return met.every((type) => type === met[0]) ? undefined : commonOf(met)
  })
  return sides.map(({ node, columns }) => ({
    node,
    columns: columns.map((value, i): Expression => {
      const type = types[i]
      return type === undefined ? value : { op: 'cast', args: [value], type }
    }),
  }))
}
