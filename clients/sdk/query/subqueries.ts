import { badRequest } from '../../../protocol/errors.js'
import type { Expression, NamedExpression, QueryNode } from '../../../protocol/query/tree.js'

/** Pairs of columns that are equal, of the rows outside a subquery and of its own. */
export type Pairs = readonly (readonly [outer: string, inner: string])[]

/** A query within a condition. */
export interface Subquery {
  readonly kind: 'in' | 'exists' | 'scalar'
  readonly tree: QueryNode
  /** Of `in` none. */
  readonly on: Pairs
  /** Of `in`, what is looked for. */
  readonly value?: Expression
}

type Join = Extract<QueryNode, { op: 'join' }>

/** The column of a subquery's values where it has become the right side of a join. */
const COLUMN = 'subquery'

/** Of the expressions that stand for subqueries, these. */
const subqueries = new WeakMap<object, Subquery>()

/** An expression that only `where` knows. */
export function subqueryValue(subquery: Subquery): Expression {
  const value = { column: COLUMN }
  subqueries.set(value, subquery)
  return value
}

/**
 * The rows for which a condition is true, in which parts joined by `and` may have a subquery each: these are semi and anti joins.
 * @throws WarpdexError `BAD_REQUEST` for subqueries that are used otherwise
 */
export function chosenRows(input: QueryNode, condition: Expression): QueryNode {
  if (subqueriesIn(condition).length === 0) return { op: 'where', input, condition }
  const parts = conjuncts(condition)
  const plain = parts.filter((part) => subqueriesIn(part).length === 0)
  const left: QueryNode =
    plain.length === 0 ? input : { op: 'where', input, condition: { op: 'and', args: plain } }
  return parts.filter((part) => !plain.includes(part)).reduce(joined, left)
}

/** @throws WarpdexError `BAD_REQUEST` for an expression with a subquery */
export function withoutSubqueries(expression: Expression): Expression {
  if (subqueriesIn(expression).length === 0) return expression
  throw badRequest('a query is part of a condition of where only; elsewhere, join with it')
}

function joined(left: QueryNode, part: Expression): Join {
  const [subquery, ...others] = subqueriesIn(part)
  if (subquery === undefined || others.length > 0)
    throw badRequest('where takes one subquery in each part of an and')
  const { kind, tree, on, value } = subquery
  const keys = on.map(([outer], i): readonly [string, string] => [outer, `${COLUMN} key ${i}`])
  const columns = on.map(([, inner], i): NamedExpression => ({ name: keys[i]![1], value: { column: inner } }))
  if (kind !== 'exists') columns.push({ name: COLUMN, value: { column: onlyColumn(tree, on) } })
  const join: Join = {
    op: 'join',
    left,
    right: { op: 'project', input: tree, columns },
    on: on.length === 0 ? undefined : keys,
    kind: 'semi',
  }
  if (kind === 'scalar') {
    if (!isOneRow(tree, on))
      throw badRequest(
        'scalar takes a query that ends with groupBy, by the columns of its on or by none, or with limit(1)',
      )
    return { ...join, condition: part }
  }
  const isWhole = subqueries.get(part) === subquery
  const isNegated = 'op' in part && part.op === 'not' && subqueries.get(part.args[0]) === subquery
  if (!isWhole && !(isNegated && kind === 'exists')) {
    const right =
      kind === 'in'
        ? 'rows with no equal are those that exists(query, on).not() chooses'
        : 'it takes exists(query, on) and its not()'
    throw badRequest(`where takes ${kind} of a query by itself, or in an and; ${right}`)
  }
  if (value === undefined) return isNegated ? { ...join, kind: 'anti' } : join
  if ('column' in value) return { ...join, on: [[value.column, COLUMN]] }
  return { ...join, condition: { op: '=', args: [value, { column: COLUMN }] } }
}

/** The column of a subquery beside those by which it is correlated. */
function onlyColumn(tree: QueryNode, on: Pairs): string {
  const given = namesOf(tree)
  const inner = on.map(([, column]) => column)
  const others = given?.filter((name) => !inner.includes(name))
  const [name] = others ?? []
  if (name !== undefined && others?.length === 1) return name
  const has = others === undefined ? 'which select or groupBy name' : `not ${given?.join(', ')}`
  throw badRequest(`a subquery that is a value gives one column beside those of its on, ${has}`)
}

function namesOf(tree: QueryNode): readonly string[] | undefined {
  switch (tree.op) {
    case 'project':
      return tree.columns.map(({ name }) => name)
    case 'groupBy':
      return [...tree.keys, ...tree.aggregates].map(({ name }) => name)
    case 'where':
    case 'orderBy':
    case 'limit':
    case 'distinct':
      return namesOf(tree.input)
    default:
      return undefined
  }
}

/** Whether a subquery that is a value gives one row at most for each outside. */
function isOneRow(tree: QueryNode, on: Pairs): boolean {
  switch (tree.op) {
    case 'groupBy':
      return tree.keys.every(({ name }) => on.some(([, inner]) => inner === name))
    case 'limit':
      return (on.length === 0 && tree.rows !== undefined && tree.rows <= 1) || isOneRow(tree.input, on)
    case 'where':
    case 'orderBy':
      return isOneRow(tree.input, on)
    case 'project':
      return on.length === 0 && isOneRow(tree.input, on)
    default:
      return false
  }
}

function conjuncts(condition: Expression): readonly Expression[] {
  return 'op' in condition && condition.op === 'and' ? condition.args.flatMap(conjuncts) : [condition]
}

function subqueriesIn(part: unknown): readonly Subquery[] {
  if (typeof part !== 'object' || part === null) return []
  const own = subqueries.get(part)
  return own === undefined ? Object.values(part).flatMap(subqueriesIn) : [own]
}
