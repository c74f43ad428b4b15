import { type ColumnType, columnWords, DECIMAL_DIGITS, decimalShape, decimalType } from '../column-types.js'
import { badRequest, type WarpdexError } from '../errors.js'
import { LIMITS } from '../limits.js'
import { isName } from '../names.js'
import { type ColumnDefinition, parseColumns } from '../relation.js'
import type { ResultColumn } from './tree.js'
import { columnAt, type TypedExpression, type TypedNode } from './typed.js'

/** That a query's result is to stay on the device, as a relation of that name. */
export interface Keep {
  readonly name: string
  /** Seconds for which it stays while nobody uses it. */
  readonly seconds: number
}

/** A result that was kept. */
export interface KeptRelation extends Keep {
  readonly columns: readonly ColumnDefinition[]
  readonly rows: number
}

/**
 * What a request says of keeping its result, as somebody sent it.
 * @throws WarpdexError `BAD_REQUEST`
 */
export function parseKeep(value: unknown): Keep | undefined {
  if (value === undefined) return undefined
  const { name, seconds = LIMITS.keptSeconds, ...others } = { ...Object(value) } as Record<string, unknown>
  if (typeof name !== 'string' || !isName(name)) {
    throw bad(`a "name" of 1 to ${LIMITS.indexNameBytes} bytes of UTF-8 without control characters`)
  }
  const { keptSecondsMost } = LIMITS
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 1 || seconds > keptSecondsMost) {
    throw bad(`"seconds", a whole number from 1 to ${keptSecondsMost}`)
  }
  const [other] = Object.keys(others)
  if (other !== undefined) throw bad(`"name" and "seconds", and no ${JSON.stringify(other.slice(0, 40))}`)
  return { name, seconds }
}

/**
 * Columns of the relation that a result becomes. What is of 128 bits becomes an `i64`, or a decimal as relations have it.
 * @throws WarpdexError `BAD_REQUEST` for a name that no relation's column may have, `TOO_LARGE` for too many columns
 */
export function keptColumns(columns: readonly ResultColumn[]): readonly ColumnDefinition[] {
  for (const { name } of columns) {
    if (isName(name)) continue
    throw badRequest(
      `query: a kept column has a name of 1 to ${LIMITS.indexNameBytes} bytes of UTF-8 without control characters; a projection can name ${JSON.stringify(name)} anew`,
    )
  }
  return parseColumns(columns.map(({ name, type, nullable }) => ({ name, type: keptType(type), nullable })))
}

function keptType(type: ColumnType): ColumnType {
  if (columnWords(type) < 4) return type
  const shape = decimalShape(type)
  return shape === undefined ? 'i64' : decimalType(DECIMAL_DIGITS, Math.min(shape.scale, DECIMAL_DIGITS))
}

/** A node whose columns are of the types of a relation's; what these cannot hold fails it. */
export function keptNode(node: TypedNode): TypedNode {
  const columns = node.columns.map((column) => ({ ...column, type: keptType(column.type) }))
  const values = node.columns.map((column, i): TypedExpression => {
    const [value, { type, nullable }] = [columnAt(column, i), columns[i]!]
    return type === column.type ? value : { kind: 'convert', args: [value], type, nullable }
  })
  const { path } = node
  return values.every(({ kind }) => kind === 'column')
    ? node
    : { op: 'project', input: node, values, columns, path }
}

function bad(right: string): WarpdexError {
  return badRequest(`query takes a "keep" with ${right}`)
}
