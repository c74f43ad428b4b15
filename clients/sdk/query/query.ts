import type {
  JoinAlgorithm,
  JoinKind,
  NamedExpression,
  QueryNode,
  SetOperator,
  SortColumn,
} from '../../../protocol/query/tree.js'
import { type AggregateValue, columnOrValue, type Value } from './value.js'

/** Columns to compute, by their names; a list of names keeps columns as they are. */
export type Columns = readonly string[] | Readonly<Record<string, Value | string>>

/** How rows of two sides belong together: by equal columns, of one name on both sides or in pairs, or by a band. */
export interface JoinOptions {
  readonly on?: string | readonly (string | readonly [left: string, right: string])[] | undefined
  /** left ≤ right ≤ left + width. */
  readonly band?: { readonly left: string; readonly right: string; readonly width: number } | undefined
  /** `inner` by default. */
  readonly kind?: JoinKind | undefined
  /** The server chooses by default. */
  readonly algorithm?: JoinAlgorithm | undefined
}

export interface SetOptions {
  /** Keep duplicates. */
  readonly all?: boolean | undefined
  /** Compare by these columns only. */
  readonly byKey?: readonly string[] | undefined
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
    return new Query({ op: 'where', input: this.tree, condition: condition.expression })
  }

  /** These columns, in this order. */
  select(columns: Columns): Query {
    return new Query({ op: 'project', input: this.tree, columns: named(columns) })
  }

  join(other: Query, { on, band, kind, algorithm }: JoinOptions): Query {
    const pairs = on === undefined ? undefined : pairsOf(on)
    return new Query({ op: 'join', left: this.tree, right: other.tree, kind, on: pairs, band, algorithm })
  }

  /** Every row of this with every row of the other. */
  product(other: Query): Query {
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
    const listed = Object.entries(aggregates).map(([name, aggregate]) => ({ name, ...aggregate }))
    return new Query({ op: 'groupBy', input: this.tree, keys: named(keys), aggregates: listed })
  }

  /** By columns, the first one first. */
  orderBy(...by: readonly (string | SortColumn)[]): Query {
    const columns = by.map((column) => (typeof column === 'string' ? { column } : column))
    return new Query({ op: 'orderBy', input: this.tree, by: columns })
  }

  limit(rows: number, offset?: number): Query {
    return new Query({ op: 'limit', input: this.tree, rows, offset })
  }

  #combined(op: SetOperator, other: Query, { all, byKey }: SetOptions): Query {
    return new Query({ op, left: this.tree, right: other.tree, all, byKey })
  }
}

/**
 * All rows of a relation.
 * @param as with it columns are named `as.column`
 */
export function relation(name: string, as?: string): Query {
  return new Query({ op: 'scan', relation: name, as })
}

/** A column to order by, the largest first. */
export function descending(column: string, nulls?: 'first' | 'last'): SortColumn {
  return { column, descending: true, nulls }
}

function named(columns: Columns): NamedExpression[] {
  if (isNames(columns)) return columns.map((name) => ({ name, value: { column: name } }))
  return Object.entries(columns).map(([name, value]) => ({ name, value: columnOrValue(value) }))
}

function isNames(columns: Columns): columns is readonly string[] {
  return Array.isArray(columns)
}

function pairsOf(on: NonNullable<JoinOptions['on']>): (readonly [string, string])[] {
  const list = typeof on === 'string' ? [on] : on
  return list.map((pair) => (typeof pair === 'string' ? [pair, pair] : pair))
}
