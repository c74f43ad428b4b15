import { type ColumnType, parseColumnType, TYPE_NAMES } from './column-types.js'
import { badRequest } from './errors.js'
import { isMap } from './is-map.js'
import { LIMITS } from './limits.js'
import { describe } from './query/node-reader.js'

/** A constant for a parameter of a statement, as one in a tree: 64-bit numbers past 2^53, dates, timestamps and decimals are texts with a `type`. */
export interface SqlParameter {
  readonly value: number | string | boolean | null
  readonly type?: ColumnType | undefined
}

/** By their places, the first one first, or by their names. */
export type SqlParameters = readonly SqlParameter[] | Readonly<Record<string, SqlParameter>>

/** A statement, which is planned into a query. */
export interface SqlStatement {
  readonly text: string
  readonly parameters: SqlParameters
}

/** @throws WarpdexError `BAD_REQUEST` */
export function parseSql(value: unknown): SqlStatement | undefined {
  if (value === undefined || value === null) return undefined
  if (!isMap(value) || typeof value.text !== 'string')
    throw badRequest('"sql" must be a map of a "text" and, if it has some, its "parameters"')
  const { text, parameters = [], ...others } = value
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw badRequest(`"sql" has an unknown field "${unknown.slice(0, 64)}"`)
  if (Array.isArray(parameters)) {
    requireFew(parameters.length)
    return { text, parameters: parameters.map((each, i) => parameterOf(each, `$${i + 1}`)) }
  }
  if (!isMap(parameters)) throw badRequest('"parameters" of sql must be a list, or a map by their names')
  const entries = Object.entries(parameters)
  requireFew(entries.length)
  return {
    text,
    parameters: Object.fromEntries(entries.map(([name, each]) => [name, parameterOf(each, `$${name}`)])),
  }
}

function requireFew(count: number): void {
  if (count > LIMITS.sqlParameters)
    throw badRequest(`a statement has ${count} parameters; ${LIMITS.sqlParameters} are allowed`)
}

function parameterOf(parameter: unknown, name: string): SqlParameter {
  const { value, type: named } = isMap(parameter) ? parameter : {}
  const isValue = value === null || ['number', 'string', 'boolean'].includes(typeof value)
  if (!isValue) throw badRequest(`parameter ${name} must be a map of a "value" and perhaps its "type"`)
  const type = named === undefined ? undefined : parseColumnType(named)
  if (named !== undefined && type === undefined)
    throw badRequest(`the type of parameter ${name} must be one of ${TYPE_NAMES}, not ${describe(named)}`)
  return { value: value as SqlParameter['value'], type }
}
