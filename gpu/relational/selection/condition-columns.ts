import { argumentsOf, type TypedExpression } from '../../../protocol/query/typed.js'
import type { Condition } from './selection-types.js'

/** Numbers of the columns that a condition looks at. */
export function columnsOf(condition: Condition): number[] {
  switch (condition.kind) {
    case 'any':
      return condition.branches.flat().flatMap(columnsOf)
    case 'expression':
      return columnsOfExpression(condition.expression)
    default:
      return [condition.column]
  }
}

function columnsOfExpression(expression: TypedExpression): number[] {
  if (expression.kind === 'column') return [expression.index]
  return argumentsOf(expression).flatMap(columnsOfExpression)
}
