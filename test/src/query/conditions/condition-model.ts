import { orderedNumber } from '../../../../gpu/relational/expressions/ordered-numbers.js'
import type { Condition, ValueSet } from '../../../../gpu/relational/selection/selection-types.js'
import type { ColumnType } from '../../../../protocol/column-types.js'
import type { MatchKind } from '../../../../protocol/query/tree.js'
import type { TypedExpression } from '../../../../protocol/query/typed.js'
import type { ColumnDomain } from '../../../../src/query/conditions/column-domain.js'
import type { Normalised } from '../../../../src/query/conditions/normalise.js'
import { isLike } from '../../../is-like.js'
import type { Cell } from '../host-relation.js'

/** What an expression is for a row, in the three values of SQL: a plain model, which knows nothing of sets or orders of bits. */
export function evaluate(expression: TypedExpression, row: readonly Cell[]): Cell {
  switch (expression.kind) {
    case 'column':
      return row[expression.index]!
    case 'constant':
      return expression.value
    case 'and':
    case 'or': {
      const decisive = expression.kind === 'or'
      const values = expression.args.map((argument) => evaluate(argument, row))
      if (values.includes(decisive)) return decisive
      return values.includes(null) ? null : !decisive
    }
    case 'not': {
      const value = evaluate(expression.args[0], row)
      return value === null ? null : !value
    }
    case 'isNull':
      return evaluate(expression.args[0], row) === null
    case 'match': {
      const value = evaluate(expression.args[0], row)
      return value === null ? null : isFound(expression.match, expression.text, String(value))
    }
    case 'convert': {
      const value = evaluate(expression.args[0], row)
      return value === null ? null : convert(value, expression.type)
    }
    case 'comparison': {
      const [a, b] = expression.args.map((argument) => evaluate(argument, row))
      if (a === null || b === null) return null
      const order = compare(a!, b!)
      const { op } = expression
      if (op === '=' || op === '<>') return (order === 0) === (op === '=')
      return op.startsWith('<')
        ? order < 0 || (op === '<=' && order === 0)
        : order > 0 || (op === '>=' && order === 0)
    }
    default:
      throw new Error(`the model has no ${expression.kind}`)
  }
}

/** Nearest floats of the integers of these tests, which doubles hold exactly. */
function convert(value: Cell, type: ColumnType): Cell {
  if (type === 'f32') return Math.fround(Number(value))
  return type === 'u64' || type === 'i64' ? BigInt(value as number) : value
}

function compare(a: Exclude<Cell, null>, b: Exclude<Cell, null>): number {
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
  return a < b ? -1 : a > b ? 1 : 0
}

function isFound(match: MatchKind, text: string, string: string): boolean {
  if (match === 'like') return isLike(text, string)
  if (match === 'contains') return string.includes(text)
  return match === 'startsWith' ? string.startsWith(text) : string.endsWith(text)
}

/** Whether a value is in a set. */
export function hasValue({ intervals }: ValueSet, value: bigint): boolean {
  return intervals.some(({ low, high }) => low <= value && value <= high)
}

/** Whether a row satisfies a condition. */
function satisfies(condition: Condition, row: readonly Cell[], columns: readonly ColumnDomain[]): boolean {
  switch (condition.kind) {
    case 'values': {
      const { type, dictionary } = columns[condition.column]!
      const cell = row[condition.column]!
      if (cell === null) return condition.set.nulls
      const code = typeof cell === 'string' ? BigInt(dictionary!.lowerBound(cell)) : orderedNumber(cell, type)
      return hasValue(condition.set, code)
    }
    case 'match': {
      const cell = row[condition.column]
      return typeof cell === 'string' && isFound(condition.match, condition.text, cell) !== condition.negated
    }
    case 'any':
      return condition.branches.some((branch) => branch.every((part) => satisfies(part, row, columns)))
    case 'expression':
      return evaluate(condition.expression, row) === true
  }
}

/** Whether a row satisfies what a condition was normalised to; what is implied must agree. */
export function isSelected(
  normalised: Normalised,
  row: readonly Cell[],
  columns: readonly ColumnDomain[],
): boolean {
  if (normalised.kind === 'none') return false
  const { conditions, implied } = normalised
  for (const { condition, by } of implied) {
    if (satisfies(conditions[by]!, row, columns) && !satisfies(condition, row, columns)) {
      throw new Error('what is implied is not true')
    }
  }
  return conditions.every((condition) => satisfies(condition, row, columns))
}
