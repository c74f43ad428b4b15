import { type ColumnType, decimalShape, decimalType, RESULT_DIGITS } from '../column-types.js'
import { LIMITS } from '../limits.js'
import { checkExpression } from './check-expression.js'
import type { NodeReader } from './node-reader.js'
import { AGGREGATES, type AggregateFunction, type ResultColumn } from './tree.js'
import type { TypedAggregate, TypedExpression, TypedNode } from './typed.js'
import { converted, isInteger, isNumeric } from './value-types.js'

/** A list of named expressions: their columns, and what computes them. */
export function checkNamed(
  reader: NodeReader,
  field: 'columns' | 'keys',
  least: number,
  input: readonly ResultColumn[],
): { readonly columns: readonly ResultColumn[]; readonly values: readonly TypedExpression[] } {
  const columns: ResultColumn[] = []
  const most = field === 'keys' ? LIMITS.queryKeys : LIMITS.queryColumns
  const values = reader.children(field, least, most).map((item) => {
    const name = columnName(item)
    const value = checkExpression(item.child('value'), input)
    item.finish()
    columns.push({ name, type: value.type, nullable: value.nullable })
    return value
  })
  return { columns, values }
}

/** @throws WarpdexError `BAD_REQUEST` */
export function checkGroups(reader: NodeReader, input: TypedNode): TypedNode {
  const keys = checkNamed(reader, 'keys', 0, input.columns)
  const isGrouped = keys.values.length > 0
  const columns = [...keys.columns]
  const aggregates = reader
    .children('aggregates', isGrouped ? 0 : 1, LIMITS.queryColumns)
    .map((item): TypedAggregate => {
      const name = columnName(item)
      const fn = item.choice('function', AGGREGATES)
      const isDistinct = item.flag('distinct')
      const given = item.has('value') ? checkExpression(item.child('value'), input.columns) : undefined
      const value = given && aggregated(fn, given)
      if (value === undefined && (fn !== 'count' || isDistinct)) {
        throw item.fault(`${isDistinct ? `a distinct "${fn}"` : `"${fn}"`} needs a "value"`)
      }
      if (isDistinct && fn === 'median')
        throw item.fault('a median is of all values; take that of rows that are distinct')
      const type = aggregateType(fn, value?.type)
      if (type === undefined) throw item.fault(`there is no ${fn} of ${given?.type}`)
      item.finish()
      // No group is empty, but for that of all rows.
      const nullable = fn !== 'count' && (!isGrouped || value?.nullable === true || isSpread(fn))
      columns.push({ name, type, nullable })
      return aggregateOf(fn, isDistinct, value)
    })
  return { op: 'groupBy', input, keys: keys.values, aggregates, columns, path: reader.path }
}

/** A median is the average of what is in the middle, and whatever is first is the largest of one row. */
function aggregateOf(
  fn: AggregateFunction,
  isDistinct: boolean,
  value: TypedExpression | undefined,
): TypedAggregate {
  if (fn === 'first') return { function: 'max', value, rows: 'first' }
  if (fn === 'median') return { function: 'avg', value, rows: 'middle' }
  return { function: fn, value, rows: isDistinct ? 'distinct' : undefined }
}

/** Of a sample: there is none of a single value. */
function isSpread(fn: AggregateFunction): boolean {
  return fn === 'stddev' || fn === 'variance'
}

/** Places of a decimal such that 2^32 times a power of ten, by which a sum is divided, fits 128 bits. */
const AVERAGED_PLACES = 28

/** What an aggregate takes of its value: sums and averages of floats, averages of what has too many places, and spreads are made of doubles. */
function aggregated(fn: AggregateFunction, value: TypedExpression): TypedExpression {
  const isSum = fn === 'sum' || fn === 'avg' || fn === 'median'
  const isLong = fn !== 'sum' && (decimalShape(value.type)?.scale ?? 0) > AVERAGED_PLACES
  const isDouble = isSpread(fn) || (isSum && (value.type === 'f32' || isLong))
  return (isDouble && isNumeric(value.type) && converted(value, 'f64')) || value
}

/** The type of an aggregate over values of a type; undefined where there is none. */
function aggregateType(fn: AggregateFunction, type: ColumnType | undefined): ColumnType | undefined {
  if (fn === 'count') return 'u32'
  if (type === undefined) return undefined
  if (fn === 'min' || fn === 'max' || fn === 'first') return type
  if (!isNumeric(type)) return undefined
  if (fn !== 'sum') return 'f64'
  const decimal = decimalShape(type)
  if (decimal !== undefined) return decimalType(RESULT_DIGITS, decimal.scale)
  return isInteger(type) ? 'i128' : type
}

/** The name of a column that a node makes. */
export function columnName(item: NodeReader, field = 'name'): string {
  const name = item.text(field)
  if (name === '' || name.length > LIMITS.columnNameLength) {
    throw item.fault(`a column's name has 1 to ${LIMITS.columnNameLength} characters`)
  }
  return name
}
