import { type ColumnType, parseColumnType, TYPE_NAMES } from './column-types.js'
import { badRequest, WarpdexError } from './errors.js'
import { LIMITS } from './limits.js'
import { isName } from './names.js'
import type { Spread } from './spread.js'

export interface ColumnDefinition {
  readonly name: string
  readonly type: ColumnType
  /** Whether values may be missing. */
  readonly nullable: boolean
}

/** What the creator of a relation decides. */
export interface RelationDefinition {
  readonly name: string
  /** In order; names differ. */
  readonly columns: readonly ColumnDefinition[]
  /** In a cluster of several replica sets; on replica set 0 without it. */
  readonly spread?: Spread | undefined
}

/** How long the kept result of a query stays. */
export interface Lifetime {
  /** Seconds for which it stays while nobody uses it. */
  readonly seconds: number
  /** Those of them that are left. */
  readonly secondsLeft: number
  /** Whether a relation that it was made of has changed since, or is no more, so that its query would be answered otherwise now. */
  readonly isOlder: boolean
}

/** A relation, and the indexes over its columns. */
export interface RelationInfo extends RelationDefinition {
  readonly indexes: readonly { readonly name: string; readonly columns: readonly string[] }[]
  /** Of the kept result of a query only. */
  readonly kept?: Lifetime | undefined
}

/**
 * The columns of a relation as somebody sent them.
 *
 * @param parseType gives the type that a text names, of those that columns may have
 * @throws WarpdexError `BAD_REQUEST`, or `TOO_LARGE` for too many
 */
export function parseColumns(value: unknown, parseType = parseColumnType): readonly ColumnDefinition[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw badRequest('a relation needs "columns", a list of at least one {name, type, nullable}')
  }
  if (value.length > LIMITS.relationColumns) {
    throw new WarpdexError(
      'TOO_LARGE',
      `a relation has ${value.length} columns; ${LIMITS.relationColumns} are allowed`,
    )
  }
  const columns = value.map((entry, i) => parseColumn(entry, `column ${i + 1}`, parseType))
  const names = new Set<string>()
  for (const { name } of columns) {
    if (names.has(name)) throw badRequest(`two columns have the name ${JSON.stringify(name)}`)
    names.add(name)
  }
  return columns
}

function parseColumn(entry: unknown, place: string, parseType: typeof parseColumnType): ColumnDefinition {
  const { name, type, nullable = false, ...others } = { ...Object(entry) } as Record<string, unknown>
  if (typeof name !== 'string' || !isName(name)) {
    throw badRequest(
      `${place} needs a "name" of 1 to ${LIMITS.indexNameBytes} bytes of UTF-8 without control characters`,
    )
  }
  const known = parseType(type)
  const column = `column ${JSON.stringify(name)}`
  if (known === undefined) throw badRequest(`${column} needs a "type" out of ${TYPE_NAMES}`)
  if (typeof nullable !== 'boolean') throw badRequest(`"nullable" of ${column} is true or false`)
  const [other] = Object.keys(others)
  if (other !== undefined) {
    throw badRequest(
      `${column} has an unknown ${JSON.stringify(other.slice(0, 40))}; its fields are name, type, nullable`,
    )
  }
  return { name, type: known, nullable }
}

/**
 * The columns of those names, in their order.
 * @throws WarpdexError `BAD_REQUEST` for a name that none has
 */
export function pickColumns(
  definition: RelationDefinition,
  names: readonly string[],
): readonly ColumnDefinition[] {
  return names.map((wanted) => {
    const column = definition.columns.find(({ name }) => name === wanted)
    if (column !== undefined) return column
    throw unknownColumn(wanted, definition)
  })
}

/** For a name that none of a relation's columns has. */
export function unknownColumn(name: string, { name: relation, columns }: RelationDefinition): WarpdexError {
  const names = columns.map((column) => column.name).join(', ')
  return badRequest(
    `relation ${JSON.stringify(relation)} has no column ${JSON.stringify(name)}; its columns are ${names}`,
  )
}
