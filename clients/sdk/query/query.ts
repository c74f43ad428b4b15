import { badRequest } from '../../../protocol/errors.js'
import {
  type Expression,
  JOIN_ALGORITHMS,
  type JoinAlgorithm,
  type NamedExpression,
  type QueryNode,
  type SetOperator,
  type SortColumn,
  type SortValue,
  TREE_JOIN_KINDS,
  type TreeJoinKind,
} from '../../../protocol/query/tree.js'
import { isIterable, isList, shown, titleOf } from '../../../protocol/shown.js'
import {
  ANYTHING,
  checkName,
  checkOptions,
  FLAG,
  type Kinds,
  NUMBER,
  oneOf,
  TEXT,
  TEXTS,
} from '../call-options.js'
import { type AggregateValue, columnOrValue, Value } from './value.js'

/** Columns to compute, by their names; a list of names keeps columns as they are. */
export type Columns = readonly string[] | Readonly<Record<string, Value | string>>

/** How rows of two sides belong together: by equal columns, of one name on both sides or in pairs, or by a band. */
export interface JoinOptions {
  readonly on?: string | readonly (string | readonly [left: string, right: string])[] | undefined
  /** left ≤ right ≤ left + width. */
  readonly band?: { readonly left: string; readonly right: string; readonly width: number } | undefined
  /** `inner` by default. */
  readonly kind?: TreeJoinKind | undefined
  /** What pairs must satisfy, beside or instead of the others: over the columns of both sides. */
  readonly condition?: Value | undefined
  /** Of `mark` the name of its column. */
  readonly as?: string | undefined
  /** The server chooses by default. */
  readonly algorithm?: JoinAlgorithm | undefined
}

const JOIN_OPTIONS: Kinds<JoinOptions> = {
  on: ANYTHING,
  band: ANYTHING,
  kind: oneOf(TREE_JOIN_KINDS),
  condition: ANYTHING,
  as: TEXT,
  algorithm: oneOf(JOIN_ALGORITHMS),
}

const BAND_FIELDS: Kinds<NonNullable<JoinOptions['band']>> = { left: TEXT, right: TEXT, width: NUMBER }

export interface SetOptions {
  /** Keep duplicates. */
  readonly all?: boolean | undefined
  /** Compare by these columns only. */
  readonly byKey?: readonly string[] | undefined
}

const SET_OPTIONS: Kinds<SetOptions> = { all: FLAG, byKey: TEXTS }
const SORT_FIELDS: Kinds<SortColumn & SortValue> = {
  column: TEXT,
  value: ANYTHING,
  descending: FLAG,
  nulls: oneOf(['first', 'last']),
}

/** A query over relations. Every method gives another query, whose rows are made of this one's. `Client.query` carries it out. */
export class Query {
  /** As it travels. */
  readonly tree: QueryNode

  constructor(tree: QueryNode) {
    this.tree = tree
  }

  /** The rows for which a condition is true. */
  where(condition: Value): Query {
    return new Query({
      op: 'where',
      input: this.tree,
      condition: conditionOf(condition, "where(col('k').gt(3))", 'where'),
    })
  }

  /** These columns, in this order. */
  select(columns: Columns): Query {
    return new Query({ op: 'project', input: this.tree, columns: named(columns, 'select') })
  }

  join(other: Query, options: JoinOptions): Query {
    checkQuery(other, 'join')
    checkOptions(options, JOIN_OPTIONS, 'join')
    const { on, band, kind, algorithm, as } = options
    if (band !== undefined) checkOptions(band, BAND_FIELDS, 'the band of join', 'field')
    const pairs = on === undefined ? undefined : pairsOf(on)
    const condition =
      options.condition && conditionOf(options.condition, "condition: col('a').lt(col('b'))", 'join')
    const matching = { on: pairs, band, condition, algorithm }
    return new Query({ op: 'join', left: this.tree, right: other.tree, kind, as, ...matching })
  }

  /** Every row of this with every row of the other. */
  product(other: Query): Query {
    checkQuery(other, 'product')
    return new Query({ op: 'product', left: this.tree, right: other.tree })
  }

  union(other: Query, options: SetOptions = {}): Query {
    return this.#combined('union', other, options)
  }

  intersect(other: Query, options: SetOptions = {}): Query {
    return this.#combined('intersect', other, options)
  }

  except(other: Query, options: SetOptions = {}): Query {
    return this.#combined('except', other, options)
  }

  /** Each row once. */
  distinct(): Query {
    return new Query({ op: 'distinct', input: this.tree })
  }

  /** A row for each combination of keys; one in all where there are no keys. */
  groupBy(keys: Columns, aggregates: Readonly<Record<string, AggregateValue>> = {}): Query {
    const listed = Object.entries(aggregatesOf(aggregates)).map(([name, aggregate]) => ({
      name,
      ...aggregate,
    }))
    return new Query({ op: 'groupBy', input: this.tree, keys: named(keys, 'groupBy'), aggregates: listed })
  }

  /** By columns and values, the first one first. */
  orderBy(...by: readonly (string | Value | SortColumn | SortValue)[]): Query {
    const columns = by.map((column) => {
      if (typeof column === 'string') return { column }
      if (column instanceof Value) return { value: column.expression }
      if (typeof column !== 'object' || column === null) {
        const right = "names of columns and values, as in orderBy('a', descending('b'))"
        throw badRequest(`orderBy takes ${right}, not ${titleOf(column)}`)
      }
      checkOptions(column, SORT_FIELDS, 'a column of orderBy', 'field')
      return column
    })
    return new Query({ op: 'orderBy', input: this.tree, by: columns })
  }

  limit(rows: number, offset?: number): Query {
    checkWhole(rows, 'the rows of limit are')
    if (offset !== undefined) checkWhole(offset, 'the offset of limit is')
    return new Query({ op: 'limit', input: this.tree, rows, offset })
  }

  #combined(op: SetOperator, other: Query, options: SetOptions): Query {
    checkQuery(other, op)
    checkOptions(options, SET_OPTIONS, op)
    const { all, byKey } = options
    return new Query({ op, left: this.tree, right: other.tree, all, byKey })
  }
}

/**
 * All rows of a relation.
 * @param as with it columns are named `as.column`
 */
export function relation(name: string, as?: string): Query {
  checkName(name, 'relation', 'a relation')
  if (as !== undefined) checkName(as, 'as', 'columns')
  return new Query({ op: 'scan', relation: name, as })
}

/** A column or a value to order by, the largest first. */
export function descending(column: string, nulls?: 'first' | 'last'): SortColumn
export function descending(column: Value, nulls?: 'first' | 'last'): SortValue
export function descending(column: string | Value, nulls?: 'first' | 'last'): SortColumn | SortValue {
  if (!(column instanceof Value)) checkName(column, 'descending', 'a column')
  const by = column instanceof Value ? { value: column.expression } : { column }
  const sort = { ...by, descending: true, nulls }
  checkOptions(sort, SORT_FIELDS, 'descending', 'field')
  return sort
}

/** @throws WarpdexError `BAD_REQUEST` for what is no query */
export function checkQuery(query: unknown, what: string): void {
  if (query instanceof Query) return
  throw badRequest(`${what} takes a query, such as relation('orders').limit(10), not ${shown(query)}`)
}

function conditionOf(condition: unknown, example: string, what: string): Expression {
  if (condition instanceof Value) return condition.expression
  throw badRequest(`${what} takes a condition, such as ${example}, not ${shown(condition)}`)
}

function checkWhole(number: unknown, what: string): void {
  if (Number.isSafeInteger(number) && Number(number) >= 0) return
  throw badRequest(`${what} a whole number from 0, not ${shown(number)}`)
}

function named(columns: Columns, what: string): NamedExpression[] {
  if (isList(columns) ? !TEXTS.is(columns) : !isRecord(columns)) {
    const right = "a list of names, or values by their names as in {total: col('a').plus(1)}"
    throw badRequest(`${what} takes ${right}, not ${shown(columns)}`)
  }
  if (isList(columns)) return columns.map((name) => ({ name, value: { column: name } }))
  return Object.entries(columns).map(([name, value]) => ({ name, value: columnOrValue(value) }))
}

function pairsOf(on: NonNullable<JoinOptions['on']>): (readonly [string, string])[] {
  const list = typeof on === 'string' ? [on] : on
  if (!Array.isArray(list)) {
    throw badRequest(
      `on of join is a column's name, or a list of names and of pairs such as [['a', 'b']], not ${shown(on)}`,
    )
  }
  return list.map((pair) => (typeof pair === 'string' ? [pair, pair] : pair))
}

function aggregatesOf(aggregates: unknown): Readonly<Record<string, AggregateValue>> {
  const isAggregate = (value: unknown): value is AggregateValue => isRecord(value) && 'function' in value
  if (isRecord(aggregates) && Object.values(aggregates).every(isAggregate)) {
    return aggregates as Readonly<Record<string, AggregateValue>>
  }
  const found = isRecord(aggregates)
    ? Object.values(aggregates).find((value) => !isAggregate(value))
    : aggregates
  throw badRequest(`groupBy takes aggregates by their names, such as {total: sum('a')}, not ${shown(found)}`)
}

/** Something with values by name, which a value of a query, a list, a set or the like is not. */
function isRecord(value: unknown): value is object {
  const isObject = typeof value === 'object' && value !== null
  return isObject && !(value instanceof Value || value instanceof Query || isIterable(value))
}
