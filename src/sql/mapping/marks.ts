import type { Aggregate, Expression } from '../../../protocol/query/tree.js'
import type { PlanExpression, PlanNode } from '../plan-json.js'
import { isNull } from './expressions.js'
import { conditionsOf, type Pair, type Sides } from './join-conditions.js'
import { join } from './joins.js'
import { type Mapped, type Mapping, refused } from './mapping.js'
import { mayBeNull } from './nulls.js'
import { filtered } from './rows.js'
import { chunkRows } from './sources.js'
import { mapSides } from './subqueries.js'

/*
 * MARK joins: `in`, `exists` and `any` of a subquery, as a column behind those of the left side. It is true for rows with a partner; and for others
 * false, or null where a null of either side might have been one.
 */

export function isMark({ join_type, children }: PlanNode): boolean {
  return join_type === 'MARK' && children.length === 2
}

/** FILTER: where it goes by a mark as such, a semi or an anti join makes no mark at all. */
export function mapFilter(node: PlanNode, mapping: Mapping): Mapped {
  const child = node.children[0]!
  if (!isMark(child) || isList(child)) return filtered(node, mapping.map(child))
  const sides = sidesOf(child, mapping)
  const mark = sides.left.columns.length
  const { expressions = [] } = node
  const uses = expressions.filter((each) => reads(each, mark))
  const isNegated = isNot(uses[0], mark)
  const isOnlyUse = uses.length === 1 && (isRef(uses[0], mark) || (isNegated && !hasNulls(sides, mapping)))
  if (!isOnlyUse) return filtered(node, marked(sides, mapping))
  const kept = expressions.filter((each) => each !== uses[0])
  const joined = join(sides, isNegated ? 'anti' : 'semi', mapping)
  return filtered(
    { ...node, expressions: kept },
    { node: joined.node, columns: [...joined.columns, { value: !isNegated }] },
  )
}

/** A MARK join whose mark is a value. */
export function mapMark(node: PlanNode, mapping: Mapping): Mapped {
  if (!isList(node)) return marked(sidesOf(node, mapping), mapping)
  const left = mapping.map(node.children[0]!)
  const { equal } = conditionsOf(node, left, { node: left.node, columns: [{ value: null }] })
  const constants = chunkRows(node.children[1]!).map(([value]) => value!)
  return { node: left.node, columns: [...left.columns, { op: 'in', args: [equal[0]![0], ...constants] }] }
}

/** Whether it is a list of constants that is looked through. */
function isList({ children, conditions = [] }: PlanNode): boolean {
  const isRows = children[1]?.type === 'LOGICAL_CHUNK_GET'
  return isRows && conditions.length === 1 && conditions[0]!.comparison === 'COMPARE_EQUAL'
}

function sidesOf(node: PlanNode, mapping: Mapping): Sides {
  return conditionsOf(node, ...mapSides(node, mapping))
}

/** The left side, and its mark: whether there are partners, and where not whether there are nulls that might be some. */
function marked(sides: Sides, mapping: Mapping): Mapped {
  const { left, right, equal, same, others } = sides
  const width = left.columns.length
  const [compared] = equal
  if (!hasNulls(sides, mapping) && others(left, right).length === 0) return join(sides, 'mark', mapping)
  if (compared === undefined || equal.length > 1 || others(left, right).length > 0)
    throw refused('any or all with a comparison other than =', 'compare with min or max of the subquery')
  // What is compared is a column of the rows, so that it is known by its place whatever the rows are joined with.
  const values = [compared[0], ...same.map(([value]) => value)]
  const found = join({ ...sides, left: { ...left, columns: [...left.columns, ...values] } }, 'mark', mapping)
  const groups = counted(right, same, [undefined, compared[1]], mapping)
  const pairs = same.map((_, i): Pair => [found.columns[width + 1 + i]!, groups.columns[i]!])
  const group = { left: found, right: groups, equal: [], same: pairs, others: () => [] }
  const rows = join(group, pairs.length === 0 ? 'inner' : 'left', mapping)
  const [all, known] = rows.columns.slice(-2)
  const hasNull: Expression = {
    op: 'or',
    args: [isNull(rows.columns[width]!), { op: '<', args: [known!, all!] }],
  }
  const mark: Expression = {
    op: 'case',
    when: [
      { condition: rows.columns[found.columns.length - 1]!, value: { value: true } },
      {
        condition: { op: 'and', args: [{ op: '>', args: [all!, { value: 0 }] }, hasNull] },
        value: { value: null, type: 'boolean' },
      },
    ],
    otherwise: { value: false },
  }
  return { node: rows.node, columns: [...rows.columns.slice(0, width), mark] }
}

/** Rows grouped by the right sides of pairs: these, and behind them how many values there are of each of others, or how many rows. */
function counted(
  { node }: Mapped,
  pairs: readonly Pair[],
  values: readonly (Expression | undefined)[],
  mapping: Mapping,
): Mapped {
  const keys = pairs.map(([, value]) => ({ name: mapping.freshName(), value }))
  const aggregates = values.map(
    (value): Aggregate => ({ name: mapping.freshName(), function: 'count', value }),
  )
  const columns = [...keys, ...aggregates].map(({ name }) => ({ column: name }))
  return { node: { op: 'groupBy', input: node, keys, aggregates }, columns }
}

/** Whether a side of the one comparison may be null; groups of rows that are compared never are. */
function hasNulls({ left, right, equal }: Sides, mapping: Mapping): boolean {
  return equal.some(
    ([one, other]) => mayBeNull(left.node, one, mapping) || mayBeNull(right.node, other, mapping),
  )
}

function isRef(expression: PlanExpression | undefined, index: number): boolean {
  return expression?.expression_class === 'BOUND_REF' && expression.index === index
}

function isNot(expression: PlanExpression | undefined, index: number): boolean {
  return (
    expression?.expression_class === 'BOUND_OPERATOR' &&
    expression.type === 'OPERATOR_NOT' &&
    isRef(expression.children[0], index)
  )
}

/** Whether a column is anywhere in an expression. */
function reads(part: unknown, index: number): boolean {
  if (Array.isArray(part)) return part.some((each) => reads(each, index))
  if (typeof part !== 'object' || part === null) return false
  if ('expression_class' in part && part.expression_class === 'BOUND_REF')
    return 'index' in part && part.index === index
  return Object.values(part).some((each) => reads(each, index))
}
