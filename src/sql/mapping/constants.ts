import { decimalShape } from '../../../protocol/column-types.js'
import { integer as typedInteger } from '../../../protocol/query/constants.js'
import type { Expression } from '../../../protocol/query/tree.js'
import { formatText } from '../../../protocol/value-texts.js'
import type { PlanScalar, PlanValue } from '../plan-json.js'
import { refused } from './mapping.js'
import { columnTypeOf } from './types.js'

/** @throws WarpdexError `BAD_REQUEST` for constants of types that there are not */
export function constantOf({ type, is_null, value }: PlanValue): Expression {
  if (is_null || value === undefined || value === null) {
    return type.id === 'NULL' ? { value: null } : { value: null, type: columnTypeOf(type) }
  }
  const own = columnTypeOf(type)
  if (typeof value === 'boolean' || own === 'string') return { value: typeof value === 'object' ? '' : value }
  if (own === 'f32' || own === 'f64') return { value: Number(value), type: own }
  if (own === 'date' || own === 'timestamp' || decimalShape(own) !== undefined)
    return { value: formatText(wideInteger(value), own), type: own }
  return integer(wideInteger(value))
}

/** A number that takes the type of what it meets. */
function integer(value: bigint): Expression {
  if (value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER))
    return { value: Number(value) }
  return { value: String(value), type: typedInteger(value).type }
}

function wideInteger(value: PlanScalar): bigint {
  if (value === null || typeof value === 'boolean') return BigInt(value ?? 0)
  if (typeof value !== 'object') return BigInt(value)
  if ('months' in value) throw refused('an interval as a value', 'it is added to a date or a timestamp')
  return (BigInt(value.upper) << 64n) + BigInt(value.lower)
}
