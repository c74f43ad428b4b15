import { type ColumnType, decimalShape } from '../../../protocol/column-types.js'
import type { Expression } from '../../../protocol/query/tree.js'
import type { PlanExpression, PlanType } from '../plan-json.js'
import { refused } from './mapping.js'
import { columnTypeOf, isHuge, planTypeOf } from './types.js'

/**
 * A cast.
 * @param from what is cast, in the plan
 * @param value the same, mapped
 */
export function castOf(from: PlanExpression, value: Expression, to: PlanType): Expression {
  const own = planTypeOf(from)
  // Sums have the bits that they have.
  if (isHuge(to) && (isInteger(own) || isHuge(own))) return value
  if (isHuge(to)) return { op: 'cast', args: [value], type: 'i64' }
  const type = columnTypeOf(to)
  if (from.expression_class === 'BOUND_CONSTANT' && own.id === 'VARCHAR')
    throw refused(`the text ${JSON.stringify(from.value.value)} as a ${to.id.toLowerCase()}`)
  return isSame(own, type) ? value : { op: 'cast', args: [value], type }
}

/** Whether it makes no difference to values of a type to be of another of ours. */
function isSame(from: PlanType, to: ColumnType): boolean {
  if (isHuge(from)) return false
  const own = columnTypeOf(from)
  return own === to && decimalShape(to) === undefined
}

function isInteger({ id }: PlanType): boolean {
  return id.endsWith('INT') || id.endsWith('INTEGER')
}
