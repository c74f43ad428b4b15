import type { PlanExpression } from '../plan-json.js'

const DAY_MICROSECONDS = 86_400_000_000n

type Pair = readonly [left: PlanExpression, right: PlanExpression]

/**
 * Two values that are compared, as dates where one is a date that was cast and the other a constant midnight: `date - interval` is a timestamp. Of a column's own
 * values it is known how many satisfy a comparison, and they have half the bits.
 */
export function comparedDates(left: PlanExpression, right: PlanExpression): Pair {
  const [leftDate, rightDate] = [castDate(left), castDate(right)]
  const [leftDay, rightDay] = [midnight(left), midnight(right)]
  if (leftDate !== undefined && rightDay !== undefined) return [leftDate, rightDay]
  if (leftDay !== undefined && rightDate !== undefined) return [leftDay, rightDate]
  return [left, right]
}

function castDate(expression: PlanExpression): PlanExpression | undefined {
  if (expression.expression_class !== 'BOUND_CAST' || expression.return_type.id !== 'TIMESTAMP')
    return undefined
  const { child, try_cast } = expression
  const type = child.expression_class === 'BOUND_CONSTANT' ? undefined : child.return_type
  return type?.id === 'DATE' && !try_cast ? child : undefined
}

/** A constant timestamp as the date whose midnight it is. */
function midnight(expression: PlanExpression): PlanExpression | undefined {
  if (expression.expression_class !== 'BOUND_CONSTANT') return undefined
  const { type, value } = expression.value
  if (type.id !== 'TIMESTAMP' || (typeof value !== 'number' && typeof value !== 'string')) return undefined
  if (!/^-?\d+$/.test(String(value)) || BigInt(value) % DAY_MICROSECONDS !== 0n) return undefined
  const date = { type: { id: 'DATE' }, is_null: false, value: Number(BigInt(value) / DAY_MICROSECONDS) }
  return { ...expression, value: date }
}
