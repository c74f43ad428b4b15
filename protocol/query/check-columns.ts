import { LIMITS } from '../limits.js'
import { checkExpression } from './check-expression.js'
import type { NodeReader, QueryBudget } from './node-reader.js'
import { AGGREGATES, type AggregateFunction, type ResultColumn, type ValueType } from './tree.js'
import type { TypedAggregate, TypedExpression } from './typed.js'
import { isNumeric } from './value-types.js'

/** A list of named expressions: their columns, and what computes them. */
export function checkNamed(
  reader: NodeReader,
  field: 'columns' | 'keys',
  least: number,
  input: readonly ResultColumn[],
  budget: QueryBudget,
): { readonly columns: readonly ResultColumn[]; readonly values: readonly TypedExpression[] } {
  const most = field === 'keys' ? LIMITS.queryKeys : LIMITS.queryColumns
  const named = reader.children(field, least, most).map((item) => {
    const name = columnName(item)
    const value = checkExpression(item.child('value'), input, budget)
    item.finish()
    return { column: { name, type: value.type, nullable: value.nullable }, value }
  })
  return { columns: named.map(({ column }) => column), values: named.map(({ value }) => value) }
}

/** @param grouped whether there are keys, so that no group is empty */
export function checkAggregates(
  reader: NodeReader,
  input: readonly ResultColumn[],
  grouped: boolean,
  budget: QueryBudget,
): { readonly columns: readonly ResultColumn[]; readonly aggregates: readonly TypedAggregate[] } {
  const checked = reader.children('aggregates', grouped ? 0 : 1, LIMITS.queryColumns).map((item) => {
    const name = columnName(item)
    const fn = item.choice('function', AGGREGATES)
    const value = item.has('value') ? checkExpression(item.child('value'), input, budget) : undefined
    if (value === undefined && fn !== 'count') throw item.fault(`"${fn}" needs a "value"`)
    const type = aggregateType(fn, value?.type)
    if (type === undefined) throw item.fault(`there is no ${fn} of ${value?.type}`)
    item.finish()
    const nullable = fn !== 'count' && (!grouped || value?.nullable === true)
    return { column: { name, type, nullable }, aggregate: { function: fn, value } }
  })
  return {
    columns: checked.map(({ column }) => column),
    aggregates: checked.map(({ aggregate }) => aggregate),
  }
}

/** The type of an aggregate over values of a type; undefined where there is none. */
function aggregateType(fn: AggregateFunction, type: ValueType | undefined): ValueType | undefined {
  if (fn === 'count') return 'u32'
  if (type === undefined) return undefined
  if (fn === 'min' || fn === 'max') return type
  if (!isNumeric(type)) return undefined
  if (fn === 'avg') return 'f32'
  return type === 'u32' ? 'u64' : type === 'i32' ? 'i64' : type
}

function columnName(item: NodeReader): string {
  const name = item.text('name')
  if (name === '' || name.length > LIMITS.columnNameLength) {
    throw item.fault(`a column's name has 1 to ${LIMITS.columnNameLength} characters`)
  }
  return name
}
