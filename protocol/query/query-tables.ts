import { type AppendFields, readAppendFrame } from '../batch.js'
import { parseResultType } from '../column-types.js'
import { badRequest, WarpdexError } from '../errors.js'
import { LIMITS } from '../limits.js'
import { isName } from '../names.js'
import { parseColumns, type RelationDefinition } from '../relation.js'
import { type RelationBatch, settleBatch } from '../relation-batch.js'
import { batchFromSections } from '../relation-sections.js'
import type { RequestReader } from '../request-reader.js'
import type { NamedColumn } from './typed.js'

/** Rows that come with a query, which scans them by their name as it does a relation. */
export interface QueryTable {
  readonly definition: RelationDefinition
  /** Of each column the relation that it comes from, as joins name it; the table itself unless given. */
  readonly of?: readonly (string | null)[] | undefined
  /** Its rows, as appends of them. */
  readonly appends: readonly AppendFields[]
}

/**
 * The tables of a request: a field `tables` with their definitions, and sections `rows.0`, `rows.1`, …, each a frame that appends rows to one of them.
 * @throws WarpdexError `BAD_REQUEST`, `TOO_LARGE`
 */
export function readTables(r: RequestReader): readonly QueryTable[] {
  const given = r.value('tables') ?? []
  if (!Array.isArray(given)) throw badRequest('"tables" is a list of {name, columns}')
  if (given.length > LIMITS.queryTables)
    throw new WarpdexError(
      'TOO_LARGE',
      `a query has ${given.length} tables; ${LIMITS.queryTables} are allowed`,
    )
  const tables = given.map(readTable)
  const appends: AppendFields[] = []
  for (;;) {
    const section = r.optionalSection(`rows.${appends.length}`)
    if (section === undefined) break
    appends.push(readAppendFrame(section.bytes))
  }
  const names = new Set(tables.map(({ definition }) => definition.name))
  if (names.size < tables.length) throw badRequest('two tables of a query have one name')
  const other = appends.find(({ relation }) => !names.has(relation))
  if (other !== undefined)
    throw badRequest(`rows are for ${JSON.stringify(other.relation)}, which is no table of the query`)
  return tables.map((table) => ({
    ...table,
    appends: appends.filter(({ relation }) => relation === table.definition.name),
  }))
}

function readTable(value: unknown): Omit<QueryTable, 'appends'> {
  const { name, columns, of } = { ...Object(value) } as Record<string, unknown>
  if (typeof name !== 'string' || !isName(name))
    throw badRequest(
      `a table of a query needs a "name" of 1 to ${LIMITS.indexNameBytes} bytes of UTF-8 without control characters`,
    )
  const definition = { name, columns: parseColumns(columns, parseResultType) }
  if (of === undefined) return { definition }
  const isNameOrNone = (each: unknown) => each === null || typeof each === 'string'
  if (!Array.isArray(of) || of.length !== definition.columns.length || !of.every(isNameOrNone))
    throw badRequest('"of" of a table of a query has the name of a relation, or null, for each column')
  return { definition, of }
}

/** The columns of a table as a query has them that scans it. */
export function columnsOf({ definition, of }: Omit<QueryTable, 'appends'>): readonly NamedColumn[] {
  if (of === undefined) return definition.columns
  return definition.columns.map((column, i) => ({ ...column, relation: of[i] ?? undefined }))
}

/**
 * The rows of a table, checked.
 * @throws WarpdexError `BAD_REQUEST`, `TOO_LARGE`
 */
export function batchesOf({ definition, appends }: QueryTable): readonly RelationBatch[] {
  const rows = appends.reduce((sum, append) => sum + append.rows, 0)
  if (rows > LIMITS.batchItems)
    throw new WarpdexError(
      'TOO_LARGE',
      `table ${JSON.stringify(definition.name)} of the query has ${rows} rows; ${LIMITS.batchItems} are allowed`,
    )
  return appends.map(({ columns, rows }) =>
    settleBatch(batchFromSections(columns, rows, definition), definition),
  )
}
