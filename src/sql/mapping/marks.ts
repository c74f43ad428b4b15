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
  const { left, right, equal, same } = sides
  if (sides.others(left, right).length > 0 || equal.length > 1)
    throw refused('any or all with a comparison other than =', 'compare with min or max of the subquery')
  const [compared] = equal
  const width = left.columns.length
  const pairs = [...equal, ...same]
  // Keys are columns of the rows, so that they are known by their places whatever the rows are joined with.
  const keyed = { ...left, columns: [...left.columns, ...pairs.map(([value]) => value)] }
  const places = pairs.map((_, i) => width + i)
  const [ownPlaces, samePlaces] = [places.slice(0, equal.length), places.slice(equal.length)]
  const partners = counted(right, pairs, [undefined], mapping)
  const found = withGroups(keyed, [ownPlaces, samePlaces], partners, mapping)
  const isFound: Expression = { op: 'not', args: [isNull(found.columns.at(-1)!)] }
  if (compared === undefined || !hasNulls(sides, mapping))
    return { node: found.node, columns: [...found.columns.slice(0, width), isFound] }
  const groups = counted(right, same, [undefined, compared[1]], mapping)
  const rows = withGroups(
    { ...found, columns: [...found.columns, isFound] },
    [[], samePlaces],
    groups,
    mapping,
  )
  const [all, known] = rows.columns.slice(-2)
  const hasNull: Expression = {
    op: 'or',
    args: [isNull(rows.columns[width]!), { op: '<', args: [known!, all!] }],
  }
  const mark: Expression = {
    op: 'case',
    when: [
      { condition: rows.columns[found.columns.length]!, value: { value: true } },
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

/**
 * Adds the columns of groups to rows that have their keys; nulls where there is no group.
 * @param places numbers of the rows' columns that are equal to the groups' keys, and then of those that may also both be null
 */
function withGroups(
  left: Mapped,
  [equal, same]: readonly [readonly number[], readonly number[]],
  right: Mapped,
  mapping: Mapping,
): Mapped {
  const pair = (place: number, i: number): Pair => [left.columns[place]!, right.columns[i]!]
  const pairs = [...equal, ...same].map(pair)
  const sides = {
    left,
    right,
    equal: pairs.slice(0, equal.length),
    same: pairs.slice(equal.length),
    others: () => [],
  }
  return join(sides, pairs.length === 0 ? 'inner' : 'left', mapping)
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
