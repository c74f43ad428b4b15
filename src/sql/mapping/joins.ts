import type { JoinKind, QueryNode, TreeJoinKind } from '../../../protocol/query/tree.js'
import type { PlanNode } from '../plan-json.js'
import { conditionsOf, keyed, type Sides } from './join-conditions.js'
import { chosen, conjunction, type Mapped, type Mapping, refused, whereAll } from './mapping.js'
import { mapSides } from './subqueries.js'
import { uniqueBy } from './unique.js'

const KINDS: Readonly<Record<string, JoinKind>> = {
  INNER: 'inner',
  LEFT: 'left',
  SINGLE: 'left',
  RIGHT: 'right',
  OUTER: 'full',
  FULL: 'full',
  SEMI: 'semi',
  ANTI: 'anti',
}

/** CROSS_PRODUCT. */
export function mapProduct({ children }: PlanNode, mapping: Mapping): Mapped {
  return product(mapping.map(children[0]!), mapping.map(children[1]!))
}

/** COMPARISON_JOIN, DELIM_JOIN and ANY_JOIN of any kind but MARK. */
export function mapJoin(node: PlanNode, mapping: Mapping): Mapped {
  const { join_type = 'INNER', left_projection_map, right_projection_map } = node
  const kind = KINDS[join_type]
  if (kind === undefined) throw refused(`a join of the kind ${join_type.toLowerCase()}`)
  const [left, right] = mapSides(node, mapping)
  const sides = conditionsOf(
    node,
    kind === 'right' || kind === 'full' ? plain(left, mapping) : left,
    kind === 'left' || kind === 'full' ? plain(right, mapping) : right,
  )
  if (join_type === 'SINGLE') requireOnePartner(sides)
  const joined = join(sides, kind, mapping)
  const width = left.columns.length
  const { columns } = joined
  const lefts = chosen({ ...joined, columns: columns.slice(0, width) }, left_projection_map)
  const rights = chosen({ ...joined, columns: columns.slice(width) }, right_projection_map)
  return { node: joined.node, columns: [...lefts.columns, ...rights.columns] }
}

/** Brings two sides together. Columns are those of the left side, and behind them those of the right, or whether there is a partner, of a `mark`. */
export function join(sides: Sides, kind: TreeJoinKind, mapping: Mapping): Mapped {
  if (kind === 'inner' && sides.equal.length + sides.same.length === 0) {
    const { left, right } = sides
    return whereAll(product(left, right), sides.others(left, right))
  }
  const { left, right, on } = keyed(sides, mapping)
  const others = sides.others(left, right)
  const condition = others.length === 0 ? undefined : conjunction(others)
  const node: QueryNode = { op: 'join', left: left.node, right: right.node, kind, on, condition }
  if (kind === 'mark') {
    const as = mapping.freshName()
    return { node: { ...node, as }, columns: [...left.columns, { column: as }] }
  }
  const isOneSided = kind === 'semi' || kind === 'anti'
  return { node, columns: isOneSided ? left.columns : [...left.columns, ...right.columns] }
}

function product(left: Mapped, right: Mapped): Mapped {
  return {
    node: { op: 'product', left: left.node, right: right.node },
    columns: [...left.columns, ...right.columns],
  }
}

/** A side of which nulls stand for what is lacking: all that it gives must be columns, so that it becomes null. */
function plain(side: Mapped, mapping: Mapping): Mapped {
  return side.columns.every((column) => 'column' in column) ? side : mapping.exact(side)
}

/** A correlated subquery is a value: it may give each row one at most. */
function requireOnePartner({ right, equal, same }: Sides): void {
  const keys = [...equal, ...same].flatMap(([, value]) => ('column' in value ? [value.column] : []))
  if (uniqueBy(right.node)?.every((column) => keys.includes(column))) return
  throw refused(
    'a correlated subquery that is a value, and may give more than one row for each,',
    'have it give an aggregate such as max',
  )
}
