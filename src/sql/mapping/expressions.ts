import type { ComparisonOp, Expression } from '../../../protocol/query/tree.js'
import type { PlanExpression } from '../plan-json.js'
import { castOf } from './casts.js'
import { constantOf } from './constants.js'
import { functionOf } from './functions.js'
import { refused } from './mapping.js'
import { comparedDates } from './midnights.js'
import { planTypeOf } from './types.js'

type Columns = readonly Expression[]
type PlanOf<Class extends PlanExpression['expression_class']> = Extract<
  PlanExpression,
  { expression_class: Class }
>

const COMPARISONS: Readonly<Record<string, ComparisonOp>> = {
  COMPARE_EQUAL: '=',
  COMPARE_NOTEQUAL: '<>',
  COMPARE_LESSTHAN: '<',
  COMPARE_GREATERTHAN: '>',
  COMPARE_LESSTHANOREQUALTO: '<=',
  COMPARE_GREATERTHANOREQUALTO: '>=',
}

/**
 * Maps an expression.
 * @param columns what the columns of the operator's input are
 * @throws WarpdexError `BAD_REQUEST` for what there is not
 */
export function mapExpression(expression: PlanExpression, columns: Columns): Expression {
  const map = (part: PlanExpression) => mapExpression(part, columns)
  const compared = (comparison: string, ...sides: readonly [PlanExpression, PlanExpression]) => {
    const [left, right] = comparedDates(...sides)
    return comparisonOf(comparison, map(left), map(right))
  }
  switch (expression.expression_class) {
    case 'BOUND_REF':
      return columns[expression.index]!
    case 'BOUND_CONSTANT':
      return constantOf(expression.value)
    case 'BOUND_COMPARISON':
      return compared(expression.type, expression.left, expression.right)
    case 'BOUND_CONJUNCTION': {
      const op = expression.type === 'CONJUNCTION_OR' ? 'or' : 'and'
      return { op, args: expression.children.map(map) }
    }
    case 'BOUND_BETWEEN': {
      const { input, lower, upper, lower_inclusive, upper_inclusive } = expression
      const above = lower_inclusive ? 'COMPARE_GREATERTHANOREQUALTO' : 'COMPARE_GREATERTHAN'
      const below = upper_inclusive ? 'COMPARE_LESSTHANOREQUALTO' : 'COMPARE_LESSTHAN'
      return { op: 'and', args: [compared(above, input, lower), compared(below, input, upper)] }
    }
    case 'BOUND_OPERATOR':
      return operatorOf(expression, map)
    case 'BOUND_CASE':
      return caseOf(expression, map)
    case 'BOUND_CAST':
      if (expression.try_cast) throw refused('try_cast', 'cast fails where a value does not fit')
      return castOf(expression.child, map(expression.child), expression.return_type)
    case 'BOUND_FUNCTION':
      return functionOf(expression.name, expression.children, map)
    default:
      throw refused(titleOf(expression))
  }
}

/** @param comparison as a plan has it */
export function comparisonOf(comparison: string, left: Expression, right: Expression): Expression {
  const op = COMPARISONS[comparison]
  if (op !== undefined) return { op, args: [left, right] }
  if (comparison === 'COMPARE_NOT_DISTINCT_FROM') return notDistinct(left, right)
  if (comparison === 'COMPARE_DISTINCT_FROM') return { op: 'not', args: [notDistinct(left, right)] }
  throw refused(`the comparison ${comparison}`)
}

/** Equality that is never null: nulls are equal. */
function notDistinct(left: Expression, right: Expression): Expression {
  const bothNull: Expression = { op: 'and', args: [isNull(left), isNull(right)] }
  const equal: Expression = { op: 'coalesce', args: [{ op: '=', args: [left, right] }, { value: false }] }
  return { op: 'or', args: [bothNull, equal] }
}

export function isNull(value: Expression): Expression {
  return { op: 'isNull', args: [value] }
}

function operatorOf(
  { type, children }: PlanOf<'BOUND_OPERATOR'>,
  map: (part: PlanExpression) => Expression,
): Expression {
  const args = children.map(map)
  switch (type) {
    case 'OPERATOR_NOT':
      return { op: 'not', args: [args[0]!] }
    case 'OPERATOR_IS_NULL':
      return isNull(args[0]!)
    case 'OPERATOR_IS_NOT_NULL':
      return { op: 'not', args: [isNull(args[0]!)] }
    case 'OPERATOR_COALESCE':
      return { op: 'coalesce', args }
    case 'COMPARE_IN':
      return { op: 'in', args }
    case 'COMPARE_NOT_IN':
      return { op: 'not', args: [{ op: 'in', args }] }
    default:
      throw refused(`the operator ${type.replace('OPERATOR_', '').toLowerCase()}`)
  }
}

/** What fails where a subquery gives more than one row is left out: there is a node only for those that give one, see `groups.ts`. */
function caseOf(
  { case_checks, else_expr }: PlanOf<'BOUND_CASE'>,
  map: (part: PlanExpression) => Expression,
): Expression {
  const when = case_checks
    .filter(({ then_expr }) => !isRowsError(then_expr))
    .map(({ when_expr, then_expr }) => ({ condition: map(when_expr), value: map(then_expr) }))
  const otherwise = map(else_expr)
  return when.length === 0 ? otherwise : { op: 'case', when, otherwise }
}

function isRowsError(expression: PlanExpression): boolean {
  if (expression.expression_class === 'BOUND_CAST') return isRowsError(expression.child)
  if (expression.expression_class !== 'BOUND_FUNCTION' || expression.name !== 'error') return false
  const [message] = expression.children
  return (
    message?.expression_class === 'BOUND_CONSTANT' &&
    String(message.value.value).startsWith('More than one row returned by a subquery')
  )
}

function titleOf(expression: PlanExpression): string {
  const title = expression.expression_class.replace('BOUND_', '').toLowerCase()
  return `an expression of the kind ${title}, of type ${planTypeOf(expression)?.id},`
}
