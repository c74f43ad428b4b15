import { badRequest, type WarpdexError } from '../../protocol/errors.js'
import { type Catalogue, folded } from './catalogue.js'
import type { Statement } from './parameters.js'
import type { PlanFault } from './plan-program.js'

/** Lines of a message of DuckDB that are shown: behind them may be dozens of functions that there are. */
const MOST_LINES = 6
/** Characters of a line of a statement that are shown. */
const SHOWN = 120
const NAMES_SHOWN = 12

/** What DuckDB finds wrong with a statement, and where that is in its text. */
export function planError(
  { kind, message, position }: PlanFault,
  text: string,
  statement: Statement,
  { names }: Catalogue,
): WarpdexError {
  if (message.startsWith('Only SELECT statements'))
    return badRequest('sql: a SELECT is needed, or EXPLAIN of one; rows are changed by other requests')
  if (/multiple statements|No statement/.test(message))
    return badRequest('sql: one statement is needed, not none or several')
  const [first = '', ...rest] = message.trimEnd().split('\n')
  const lines = [first.trim(), ...rest.slice(0, MOST_LINES)]
  const missing = /^Table with name (.*) does not exist!$/.exec(first)?.[1]
  if (missing !== undefined) lines.splice(1, MOST_LINES, relationsOf(names, missing))
  if (kind === 'permission') lines.splice(0, lines.length, 'statements read relations, and no files')
  if (position === undefined || position > Buffer.byteLength(statement.text))
    return badRequest(`sql: ${lines.join('\n')}`)
  const at = statement.placeOf(Buffer.from(statement.text).subarray(0, position).toString().length)
  const before = text.slice(0, at).split('\n')
  const column = before.at(-1)!.length
  const line = text.split('\n')[before.length - 1] ?? ''
  const from = Math.max(0, column - SHOWN / 2)
  const caret = ' '.repeat(column - from)
  lines.push(line.slice(from, from + SHOWN), `${caret}^`)
  return badRequest(`sql: line ${before.length}, column ${column + 1}: ${lines.join('\n')}`)
}

function relationsOf(names: readonly string[], missing: string): string {
  if (names.length === 0) return 'there is no relation that may be read'
  const alike = names.filter((name) => folded(name) === folded(missing))
  if (alike.length > 1)
    return `${alike.join(' and ')} differ in capitals only, so that SQL cannot tell which is meant`
  const shown = names.slice(0, NAMES_SHOWN)
  return `the relations are ${shown.join(', ')}${names.length > NAMES_SHOWN ? ', …' : ''}`
}
