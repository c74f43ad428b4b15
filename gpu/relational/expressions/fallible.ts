import { argumentsOf, type TypedExpression } from '../../../protocol/query/typed.js'
import { goesWithoutFault } from '../../../protocol/query/value-types.js'

/** Whether an expression may be a fault for some row. */
export function isFallible(expression: TypedExpression): boolean {
  if (expression.kind === 'arithmetic' && expression.type !== 'f32') return true
  if (expression.kind === 'convert' && !goesWithoutFault(expression.args[0].type, expression.type))
    return true
  return argumentsOf(expression).some(isFallible)
}
