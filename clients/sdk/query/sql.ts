import { badRequest } from '../../../protocol/errors.js'
import { isIterable, isList, shown } from '../../../protocol/shown.js'
import type { SqlParameter } from '../../../protocol/sql.js'
import { formatText, microsecondOf } from '../../../protocol/value-texts.js'
import type { Question } from './query-result.js'

/** A value for a parameter of a statement: a `Date` is a timestamp, and texts become what they meet. */
export type SqlValue = number | bigint | string | boolean | Date | null

/** In the order of `?`, or of their numbers as in `$1`; or by their names, as in `$name`. */
export type SqlValues = readonly SqlValue[] | Readonly<Record<string, SqlValue>>

/** @throws WarpdexError `BAD_REQUEST` for what cannot be asked */
export function sqlQuestion(text: string, parameters: SqlValues, what: string): Question {
  if (typeof text !== 'string') throw badRequest(`${what} takes the text of a SELECT, not ${shown(text)}`)
  return { fields: { sql: { text, parameters: parametersOf(parameters, what) } } }
}

function parametersOf(parameters: SqlValues, what: string) {
  if (isList(parameters)) return parameters.map((value, i) => parameterOf(value, `$${i + 1}`))
  if (typeof parameters !== 'object' || parameters === null || isIterable(parameters))
    throw badRequest(`${what} takes a list of parameters, or a map by their names, not ${shown(parameters)}`)
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [name, parameterOf(value, `$${name}`)]),
  )
}

function parameterOf(value: SqlValue, name: string): SqlParameter {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return { value }
  if (typeof value === 'number')
    return Number.isFinite(value) ? { value } : { value: String(value), type: 'f64' }
  if (typeof value === 'bigint') return { value: String(value), type: value < 2n ** 63n ? 'i64' : 'u64' }
  if (value instanceof Date && !Number.isNaN(value.getTime()))
    return { value: formatText(microsecondOf(value), 'timestamp'), type: 'timestamp' }
  throw badRequest(
    `parameter ${name} must be a number, a text, true, false, null or a Date, not ${shown(value)}`,
  )
}
