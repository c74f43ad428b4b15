import { type ColumnType, DECIMAL_DIGITS, decimalType } from '../../../protocol/column-types.js'
import { commonType } from '../../../protocol/query/value-types.js'
import type { PlanExpression, PlanType } from '../plan-json.js'
import { refused } from './mapping.js'

const TYPES: Readonly<Record<string, ColumnType>> = {
  BOOLEAN: 'boolean',
  TINYINT: 'i32',
  SMALLINT: 'i32',
  INTEGER: 'i32',
  UTINYINT: 'u32',
  USMALLINT: 'u32',
  UINTEGER: 'u32',
  BIGINT: 'i64',
  UBIGINT: 'u64',
  HUGEINT: 'i128',
  FLOAT: 'f32',
  DOUBLE: 'f64',
  DATE: 'date',
  TIMESTAMP: 'timestamp',
  VARCHAR: 'string',
}

/**
 * The type of ours that holds values of one of DuckDB's.
 * @throws WarpdexError `BAD_REQUEST` for types that there are not
 */
export function columnTypeOf({ id, type_info }: PlanType): ColumnType {
  const plain = TYPES[id]
  if (plain !== undefined) return plain
  if (id !== 'DECIMAL') {
    const known = [...new Set(Object.keys(TYPES)), 'DECIMAL'].join(', ')
    throw refused(`the type ${id}`, `the types are ${known}`)
  }
  const { width = DECIMAL_DIGITS, scale = 0 } = type_info ?? {}
  return decimalType(width, scale)
}

/** The type of DuckDB that an expression has. */
export function planTypeOf(expression: PlanExpression): PlanType {
  if (expression.expression_class === 'BOUND_CONSTANT') return expression.value.type
  // Conditions come without a type.
  return expression.return_type ?? { id: 'BOOLEAN' }
}

/**
 * The narrowest of our types that values of all of some types go to.
 * @throws WarpdexError `BAD_REQUEST` where there is none
 */
export function commonOf(types: readonly ColumnType[]): ColumnType {
  const type = commonType(types.map((each) => ({ kind: 'column', index: 0, type: each, nullable: true })))
  if (type === undefined) throw refused(`having ${types.join(' and ')} meet`, 'cast one of them')
  return type
}
