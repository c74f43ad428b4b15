import { badRequest, type WarpdexError } from '../../protocol/errors.js'
import type { MirroredRelation } from './catalogue.js'
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
  catalogue: readonly MirroredRelation[],
): WarpdexError {
  if (message.startsWith('Only SELECT statements'))
    return badRequest('sql: a SELECT is needed, or EXPLAIN of one; rows are changed by other requests')
  if (/multiple statements|No statement/.test(message))
    return badRequest('sql: one statement is needed, not none or several')
  const [first = '', ...rest] = message.trimEnd().split('\n')
  const lines = [first.trim(), ...rest.slice(0, MOST_LINES)]
  if (/^Table with name .* does not exist!$/.test(first)) lines.splice(1, MOST_LINES, relationsOf(catalogue))
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

function relationsOf(catalogue: readonly MirroredRelation[]): string {
  if (catalogue.length === 0) return 'there is no relation that may be read'
  const names = catalogue.slice(0, NAMES_SHOWN).map(({ name }) => name)
  return `the relations are ${names.join(', ')}${catalogue.length > NAMES_SHOWN ? ', …' : ''}`
}
