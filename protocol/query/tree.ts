import type { ColumnType } from '../column-types.js'

export const ARITHMETIC = ['+', '-', '*', '/'] as const
export type ArithmeticOp = (typeof ARITHMETIC)[number]

export const COMPARISONS = ['=', '<>', '<', '<=', '>', '>='] as const
export type ComparisonOp = (typeof COMPARISONS)[number]

/** Where a text must be found in a string; of `like` the text is a pattern, in which `%` is any characters and `_` any one. */
export const MATCHES = ['startsWith', 'endsWith', 'contains', 'like'] as const
export type MatchKind = (typeof MATCHES)[number]

/** Functions of numbers: the rest of a division, a quotient without its fraction, and others by their names. */
export const NUMBER_FUNCTIONS = ['%', '//', 'abs', 'negate', 'round', 'floor', 'ceil'] as const
export type NumberFunction = (typeof NUMBER_FUNCTIONS)[number]

/** Functions of dates and timestamps that give a number. */
export const DATE_PARTS = [
  'year',
  'quarter',
  'month',
  'day',
  'dayOfWeek',
  'dayOfYear',
  'hour',
  'minute',
  'second',
  'epoch',
] as const
export type DatePart = (typeof DATE_PARTS)[number]

/** Functions of dates and timestamps. */
export const DATE_FUNCTIONS = [...DATE_PARTS, 'dateTrunc', 'addMonths', 'addDays', 'addMicroseconds'] as const
export type DateFunction = (typeof DATE_FUNCTIONS)[number]

/** What `dateTrunc` truncates to. */
export const DATE_UNITS = ['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second'] as const
export type DateUnit = (typeof DATE_UNITS)[number]

/** Functions of strings. */
export const TEXT_FUNCTIONS = ['length', 'upper', 'lower', 'substring', '||', 'concat'] as const
export type TextFunction = (typeof TEXT_FUNCTIONS)[number]

/** Functions of values; `functions.ts` says what each takes and gives. */
export const FUNCTIONS = ['coalesce', ...NUMBER_FUNCTIONS, ...DATE_FUNCTIONS, ...TEXT_FUNCTIONS] as const
export type FunctionName = (typeof FUNCTIONS)[number]

/**
 * An expression over the columns of a node's input, as it travels. Null is what SQL makes of it: an operator over null is null, except for
 * `and`, `or`, `isNull` and `case`.
 *
 * * A constant takes the type of what it meets, a text also that of a date, a timestamp or a decimal; 64-bit numbers past 2^53 are texts of digits with a `type`.
 * * `+ - *` on integers give `i64`, or `u64` where one side is; what does not fit fails the query. With an `f32` on either side they give `f32`, with an `f64` `f64`.
 *   `/` gives `f64`, or `f32` where the sides meet as that, and null for a divisor of 0.
 * * `case` gives the value of the first condition that is true, else `otherwise`, null if absent.
 */
export type Expression =
  | { readonly column: string }
  | { readonly value: number | string | boolean | null; readonly type?: ColumnType | undefined }
  | { readonly op: ArithmeticOp | ComparisonOp; readonly args: readonly [Expression, Expression] }
  | { readonly op: 'and' | 'or'; readonly args: readonly Expression[] }
  | {
      readonly op: 'in'
      readonly args: readonly Expression[]
      /** Numbers of lists of further constants, which travel as columns (`pack-query.ts`). */
      readonly lists?: readonly number[] | undefined
    }
  | { readonly op: 'not' | 'isNull'; readonly args: readonly [Expression] }
  | { readonly op: FunctionName; readonly args: readonly Expression[] }
  | {
      readonly op: MatchKind
      readonly args: readonly [Expression]
      readonly text: string
      /** Of `like` a character that has the one behind it mean itself; none by default. */
      readonly escape?: string | undefined
    }
  | { readonly op: 'cast'; readonly args: readonly [Expression]; readonly type: ColumnType }
  | {
      readonly op: 'case'
      readonly when: readonly { readonly condition: Expression; readonly value: Expression }[]
      readonly otherwise?: Expression | undefined
    }

export interface NamedExpression {
  readonly name: string
  readonly value: Expression
}

export const AGGREGATES = [
  'count',
  'sum',
  'min',
  'max',
  'avg',
  'stddev',
  'variance',
  'median',
  'first',
] as const
export type AggregateFunction = (typeof AGGREGATES)[number]

export interface Aggregate {
  readonly name: string
  readonly function: AggregateFunction
  /** Nulls of it are left out, but of `first`. Only `count` can do without: it counts rows then. */
  readonly value?: Expression | undefined
  /** Whether each different value counts once. */
  readonly distinct?: boolean | undefined
}

/**
 * `left`, `right` and `full` also return the rows of those sides that match nothing; `semi` and `anti` the left rows that match
 * something or nothing, each once.
 */
export const JOIN_KINDS = ['inner', 'left', 'right', 'full', 'semi', 'anti'] as const
export type JoinKind = (typeof JOIN_KINDS)[number]

/** Kinds of joins in a tree. `mark` returns all left rows, each once, with a column of booleans that says whether it matches something. */
export const TREE_JOIN_KINDS = [...JOIN_KINDS, 'mark'] as const
export type TreeJoinKind = (typeof TREE_JOIN_KINDS)[number]

/** Algorithms of He et al. §4; `auto` leaves the choice to the server. */
export const JOIN_ALGORITHMS = ['auto', 'ninlj', 'inlj', 'smj', 'hj'] as const
export type JoinAlgorithm = (typeof JOIN_ALGORITHMS)[number]

export interface SortColumn {
  readonly column: string
  readonly descending?: boolean | undefined
  /** Last by default, whatever the direction. */
  readonly nulls?: 'first' | 'last' | undefined
}

/** The same by an expression. */
export interface SortValue extends Omit<SortColumn, 'column'> {
  readonly value: Expression
}

/** The nodes with two inputs whose rows are looked at as a whole. */
export const SET_OPERATORS = ['union', 'intersect', 'except'] as const
export type SetOperator = (typeof SET_OPERATORS)[number]

/** A tree of operators, as it travels: plain msgpack values. Every node gives rows of named columns to the one that it is an input of. */
export type QueryNode =
  /** All rows of a relation. With `as` its columns are named `as.column`. */
  | { readonly op: 'scan'; readonly relation: string; readonly as?: string | undefined }
  /** The rows for which the condition is true. */
  | { readonly op: 'where'; readonly input: QueryNode; readonly condition: Expression }
  | { readonly op: 'project'; readonly input: QueryNode; readonly columns: readonly NamedExpression[] }
  /**
   * Pairs of rows whose columns are equal (`on`) or for which left ≤ right ≤ left + width (`band`), and for which the condition is true: one of the first two at
   * most, and one of the three at least. `semi` and `anti` give rows of the left side only.
   */
  | {
      readonly op: 'join'
      readonly left: QueryNode
      readonly right: QueryNode
      readonly kind?: TreeJoinKind | undefined
      readonly on?: readonly (readonly [left: string, right: string])[] | undefined
      readonly band?: { readonly left: string; readonly right: string; readonly width: number } | undefined
      /** Over the columns of both sides, whatever the join gives of them. */
      readonly condition?: Expression | undefined
      /** Of `mark` the name of its column. */
      readonly as?: string | undefined
      readonly algorithm?: JoinAlgorithm | undefined
    }
  | { readonly op: 'product'; readonly left: QueryNode; readonly right: QueryNode }
  /**
   * By whole rows, as SQL has them: nulls are equal, and rows come once each unless `all`. With `byKey`, as Diamos et al. Table 1 has
   * them: rows of the left side whose key is on the right (`intersect`) or not (`except`), or those of the left and of the right those
   * whose key is not on the left (`union`).
   */
  | {
      readonly op: SetOperator
      readonly left: QueryNode
      readonly right: QueryNode
      readonly all?: boolean | undefined
      readonly byKey?: readonly string[] | undefined
    }
  | { readonly op: 'distinct'; readonly input: QueryNode }
  /** A row for each combination of keys; one for all rows, even for none, where there are no keys. */
  | {
      readonly op: 'groupBy'
      readonly input: QueryNode
      readonly keys: readonly NamedExpression[]
      readonly aggregates: readonly Aggregate[]
    }
  /** Stable: rows that are equal in all columns stay in their order. */
  | { readonly op: 'orderBy'; readonly input: QueryNode; readonly by: readonly (SortColumn | SortValue)[] }
  | {
      readonly op: 'limit'
      readonly input: QueryNode
      readonly rows?: number | undefined
      readonly offset?: number | undefined
    }

/** A column of a result. */
export interface ResultColumn {
  readonly name: string
  readonly type: ColumnType
  readonly nullable: boolean
}
