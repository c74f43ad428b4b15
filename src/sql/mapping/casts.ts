import { type ColumnType, decimalShape } from '../../../protocol/column-types.js'
import type { Expression } from '../../../protocol/query/tree.js'
import type { PlanExpression, PlanType } from '../plan-json.js'
import { refused } from './mapping.js'
import { columnTypeOf, planTypeOf } from './types.js'

/**
 * A cast.
 * @param from what is cast, in the plan
 * @param value the same, mapped
 */
export function castOf(from: PlanExpression, value: Expression, to: PlanType): Expression {
  const own = planTypeOf(from)
  const type = columnTypeOf(to)
  if (from.expression_class === 'BOUND_CONSTANT' && own.id === 'VARCHAR')
    throw refused(`the text ${JSON.stringify(from.value.value)} as a ${to.id.toLowerCase()}`)
  return isSame(own, type) ? value : { op: 'cast', args: [value], type }
}

/** Whether it makes no difference to values of a type to be of another of ours. */
function isSame(from: PlanType, to: ColumnType): boolean {
  const own = columnTypeOf(from)
  return own === to && decimalShape(to) === undefined
}
