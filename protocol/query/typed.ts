import type { ColumnType } from '../column-types.js'
import { WarpdexError } from '../errors.js'
import { getOrInsert } from '../get-or-insert.js'
import type {
  AggregateFunction,
  ArithmeticOp,
  ComparisonOp,
  FunctionName,
  JoinAlgorithm,
  JoinKind,
  MatchKind,
  ResultColumn,
  SetOperator,
  TreeJoinKind,
} from './tree.js'

/** A constant's value: a bigint for integers, a number for floats, null for none. */
export type ConstantValue = bigint | number | string | boolean | null

/** An expression that was checked: columns are numbers in the input, and both sides of an operator have one type. */
export type TypedExpression = { readonly type: ColumnType; readonly nullable: boolean } & (
  | { readonly kind: 'column'; readonly index: number }
  | {
      readonly kind: 'constant'
      readonly value: ConstantValue
      /** It came as a number that is no integer of 53 bits, and without a type: it takes that of what it meets. */
      readonly isFree?: true
      /** It is free, and a whole number of which digits may be lost. */
      readonly isInexact?: true
    }
  | { readonly kind: 'arithmetic'; readonly op: ArithmeticOp; readonly args: Pair }
  | { readonly kind: 'comparison'; readonly op: ComparisonOp; readonly args: Pair }
  | { readonly kind: 'and' | 'or'; readonly args: Pair }
  | { readonly kind: 'not' | 'isNull'; readonly args: Single }
  | { readonly kind: 'convert'; readonly args: Single }
  /** Patterns of `like` are those of `like.ts`, and none that another kind would do for. */
  | { readonly kind: 'match'; readonly match: MatchKind; readonly text: string; readonly args: Single }
  /** A function that is no other expression; nothing but its name and its arguments says what it gives. */
  | { readonly kind: 'call'; readonly function: FunctionName; readonly args: readonly TypedExpression[] }
  /** Condition, value if it is true, value if not. */
  | { readonly kind: 'choose'; readonly args: readonly [TypedExpression, ...Pair] }
)

type Single = readonly [TypedExpression]

/** Both sides of an operator. */
export type Pair = readonly [TypedExpression, TypedExpression]

export interface TypedAggregate {
  readonly function: AggregateFunction
  /** Undefined where rows are counted. */
  readonly value: TypedExpression | undefined
  /** All of a group unless given. */
  readonly rows?: AggregatedRows | undefined
}

/** Of each group the first of its rows, the first one with each value, or those in the middle of their order by value. */
export type AggregatedRows = 'first' | 'distinct' | 'middle'

export interface SortKey {
  /** Number of the column in the input. */
  readonly column: number
  readonly descending: boolean
  readonly nullsFirst: boolean
}

/** Pairs of column numbers that must be equal, or one pair and the width of a band. */
export interface JoinCondition {
  readonly pairs: readonly (readonly [left: number, right: number])[]
  readonly width: number | undefined
}

/** A column of a node. */
export interface NamedColumn extends ResultColumn {
  /** The relation whose column it is, under the name that it has there; absent of others, and where the scan has an `as`. */
  readonly relation?: string | undefined
}

/** A node that was checked, with the columns that it gives. */
export type TypedNode = {
  readonly columns: readonly NamedColumn[]
  /** Where the node is in the tree that was sent, such as `query.input.left`. */
  readonly path: string
} /** `kept`: numbers of the relation's columns that are given. */ & (
  | { readonly op: 'scan'; readonly relation: string; readonly kept: readonly number[] }
  | {
      readonly op: 'where'
      readonly input: TypedNode
      readonly condition: TypedExpression
      /** Numbers of the input's columns that are given. */
      readonly kept: readonly number[]
    }
  | { readonly op: 'project'; readonly input: TypedNode; readonly values: readonly TypedExpression[] }
  | {
      readonly op: 'join'
      readonly left: TypedNode
      readonly right: TypedNode
      readonly kind: JoinKind
      readonly condition: JoinCondition
      readonly algorithm: JoinAlgorithm
      /** Numbers of those columns that are given, of the left side's, behind them the right side's, and of pairs behind these the row numbers of both. */
      readonly kept: readonly number[]
    }
  /** Pairs that satisfy a condition, and rows by whether they are in one. */
  | {
      readonly op: 'joinWhere'
      /** A `where` over an inner join that gives row numbers (`pairsOf`), which come last here. */
      readonly input: TypedNode
      readonly kind: Exclude<TreeJoinKind, 'inner'>
      /** Numbers of the input's columns that are given. Of `mark` the marks come behind them. */
      readonly kept: readonly number[]
    }
  | { readonly op: 'product'; readonly left: TypedNode; readonly right: TypedNode }
  | {
      readonly op: SetOperator
      readonly left: TypedNode
      readonly right: TypedNode
      readonly all: boolean
      /** Numbers of the key's columns; undefined where whole rows are compared. */
      readonly byKey: readonly number[] | undefined
    }
  | { readonly op: 'distinct'; readonly input: TypedNode }
  | {
      readonly op: 'groupBy'
      readonly input: TypedNode
      readonly keys: readonly TypedExpression[]
      readonly aggregates: readonly TypedAggregate[]
    }
  | { readonly op: 'orderBy'; readonly input: TypedNode; readonly by: readonly SortKey[] }
  | { readonly op: 'limit'; readonly input: TypedNode; readonly rows: number; readonly offset: number }
)

/** The checked nodes of an operator. */
export type NodeOf<Op extends TypedNode['op']> = Extract<TypedNode, { op: Op }>

/** What a `joinWhere` takes: a condition on the pairs of a join. */
export function pairsOf({ input }: NodeOf<'joinWhere'>): {
  readonly chosen: NodeOf<'where'>
  readonly pairs: NodeOf<'join'>
} {
  if (input.op === 'where' && input.input.op === 'join') return { chosen: input, pairs: input.input }
  throw new WarpdexError('INTERNAL', `a joinWhere over ${input.op}`)
}

/** What a `joinWhere` gives, as numbers of the left side's columns and behind them the right side's. */
export function givenOf(node: NodeOf<'joinWhere'>): number[] {
  const { chosen, pairs } = pairsOf(node)
  return node.kept.map((column) => pairs.kept[chosen.kept[column]!]!)
}

/** The inputs of a node, the left one first. */
export function inputsOf(node: TypedNode): readonly TypedNode[] {
  if (node.op === 'scan') return []
  return 'left' in node ? [node.left, node.right] : [node.input]
}

/** A column of a node as an expression over it. */
export function columnAt({ type, nullable }: ResultColumn, index: number): TypedExpression {
  return { kind: 'column', index, type, nullable }
}

/** A node with further columns, which have no names. */
export function withValues(input: TypedNode, values: readonly TypedExpression[], path: string): TypedNode {
  const further = values.map(({ type, nullable }) => ({ name: '', type, nullable }))
  const columns = [...input.columns, ...further]
  return { op: 'project', input, values: [...input.columns.map(columnAt), ...values], columns, path }
}

/** What an expression consists of. */
export function argumentsOf(expression: TypedExpression): readonly TypedExpression[] {
  return 'args' in expression ? expression.args : []
}

/** Whether one of them may be null. */
export function hasNulls(values: readonly TypedExpression[]): boolean {
  return values.some(({ nullable }) => nullable)
}

/** Numbers of the columns that an expression reads, each as often as it does. */
export function columnsRead(expression: TypedExpression): number[] {
  const read: number[] = []
  const visit = (part: TypedExpression) => {
    if (part.kind === 'column') read.push(part.index)
    else argumentsOf(part).forEach(visit)
  }
  visit(expression)
  return read
}

const sizes = new WeakMap<TypedExpression, number>()

/** How many parts an expression has, those that stand in it several times as often. */
export function sizeOf(expression: TypedExpression): number {
  return getOrInsert(sizes, expression, () => {
    return argumentsOf(expression).reduce((sum, part) => sum + sizeOf(part), 1)
  })
}

/** The same expression over columns with other numbers. */
export function mapColumns(
  expression: TypedExpression,
  numberOf: (column: number) => number,
): TypedExpression {
  if (expression.kind === 'column') return { ...expression, index: numberOf(expression.index) }
  if (!('args' in expression)) return expression
  const args = expression.args.map((argument) => mapColumns(argument, numberOf))
  // There are as many as there were.
  return { ...expression, args } as unknown as TypedExpression
}
