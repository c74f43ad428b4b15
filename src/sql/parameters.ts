import { type ColumnType, decimalShape } from '../../protocol/column-types.js'
import { badRequest } from '../../protocol/errors.js'
import { isList } from '../../protocol/shown.js'
import type { SqlParameter, SqlParameters } from '../../protocol/sql.js'

/** A statement with its parameters in place. */
export interface Statement {
  readonly text: string
  /** Where a character of it is in the text as it was. */
  readonly placeOf: (at: number) => number
}

/** What is no parameter though it looks like one, and what is: texts, names, comments; `?`, `$1`, `$name`. */
const TOKENS =
  /[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*.*?\*\/|\$([A-Za-z_]\w*)?\$.*?\$\1\$|\$(\w+)|\?/gs

/**
 * Puts constants of their types where a statement has `?`, `$1` or `$name`.
 * @throws WarpdexError `BAD_REQUEST` for one that is not given, or not used
 */
export function withParameters(text: string, parameters: SqlParameters): Statement {
  const edits: { readonly at: number; readonly from: number; readonly to: number }[] = []
  const used = new Set<string>()
  let [positional, grown] = [0, 0]
  const replaced = text.replace(TOKENS, (token, _tag, named: string | undefined, at: number) => {
    const isParameter = token === '?' || (named !== undefined && token === `$${named}`)
    if (!isParameter) return token
    const name = named ?? String(++positional)
    const constant = literalOf(parameterOf(name, parameters))
    used.add(name)
    edits.push({ at: at + grown, from: token.length, to: constant.length })
    grown += constant.length - token.length
    return constant
  })
  const names = isList(parameters) ? parameters.map((_, i) => String(i + 1)) : Object.keys(parameters)
  const unused = names.find((name) => !used.has(name))
  if (unused !== undefined) throw badRequest(`sql: the statement has no parameter $${unused}`)
  return { text: replaced, placeOf: (at) => placeBefore(at, edits) }
}

function parameterOf(name: string, parameters: SqlParameters): SqlParameter {
  const own = isList(parameters)
    ? parameters[Number(name) - 1]
    : Object.hasOwn(parameters, name) && parameters[name]
  if (own) return own
  const given = isList(parameters)
    ? `${parameters.length} are given`
    : `given are ${Object.keys(parameters).join(', ')}`
  throw badRequest(`sql: the statement has a parameter $${name}, and ${given}`)
}

function placeBefore(
  at: number,
  edits: readonly { readonly at: number; readonly from: number; readonly to: number }[],
): number {
  let moved = 0
  for (const { at: start, from, to } of edits) {
    if (at < start) break
    if (at < start + to) return start - moved
    moved += to - from
  }
  return at - moved
}

/** A constant as it is written in SQL: numbers by their digits, all else as a text that is cast to its type. */
function literalOf({ value, type }: SqlParameter): string {
  if (value === null) return type === undefined ? '(NULL)' : `(NULL::${typeName(type)})`
  const written = quoted(String(value))
  if (type !== undefined) return `(${written}::${typeName(type)})`
  if (typeof value === 'boolean') return `(${value})`
  if (typeof value === 'string') return written
  return /^-?\d{1,18}(\.\d{1,17})?$/.test(String(value)) ? `(${value})` : `(${written}::DOUBLE)`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

const TYPE_NAMES: Readonly<Partial<Record<ColumnType, string>>> = {
  u32: 'UINTEGER',
  i32: 'INTEGER',
  u64: 'UBIGINT',
  i64: 'BIGINT',
  f32: 'FLOAT',
  f64: 'DOUBLE',
  string: 'VARCHAR',
}

function typeName(type: ColumnType): string {
  const shape = decimalShape(type)
  if (shape !== undefined) return `DECIMAL(${shape.precision},${shape.scale})`
  return TYPE_NAMES[type] ?? type
}
