import { type ColumnType, decimalShape } from '../../../protocol/column-types.js'
import { badRequest } from '../../../protocol/errors.js'
import type { Expression } from '../../../protocol/query/tree.js'
import type { PlanExpression, PlanType } from '../plan-json.js'
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
    throw badRequest(
      `sql: the text ${JSON.stringify(from.value.value)} cannot be cast to ${to.id}${exampleOf(type)}`,
    )
  return isSame(own, type) ? value : { op: 'cast', args: [value], type }
}

/** How texts are written that are cast to a type, where that is not clear. */
function exampleOf(type: ColumnType): string {
  if (type === 'date') return '; a date is written 2026-11-28'
  return type === 'timestamp' ? '; a timestamp is written 2026-11-28 17:30:00' : ''
}

/** Whether it makes no difference to values of a type to be of another of ours. */
function isSame(from: PlanType, to: ColumnType): boolean {
  const own = columnTypeOf(from)
  return own === to && decimalShape(to) === undefined
}
