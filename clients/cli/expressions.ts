import { badRequest } from '../../protocol/errors.js'
import { isMap } from '../../protocol/is-map.js'
import type { Expression } from '../../protocol/query/tree.js'

/** An option that must be given, as JSON. */
export function jsonOption<const D extends string>(describe: D) {
  return { type: 'string', requiresArg: true, demandOption: true, describe: `${describe}, as JSON` } as const
}

/**
 * An expression as JSON; the server checks it, and says where it is wrong.
 * @throws WarpdexError `BAD_REQUEST` for what is no JSON, or no map
 */
export function parseExpression(text: string, option: string): Expression {
  return parseMap(text, option) as unknown as Expression
}

/** Expressions by name, as `parseExpression`. */
export function parseExpressions(text: string, option: string): Readonly<Record<string, Expression>> {
  return parseMap(text, option) as Readonly<Record<string, Expression>>
}

function parseMap(text: string, option: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw badRequest(`--${option} is not JSON: ${error instanceof Error ? error.message : error}`)
  }
  if (isMap(value)) return value
  throw badRequest(`--${option} must be a map, such as {"column": "id"}`)
}
