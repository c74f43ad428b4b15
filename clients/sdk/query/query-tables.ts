import { type ColumnDefinition, parseColumns } from '../../../protocol/relation.js'
import type { RelationInput } from '../../../protocol/relation-values.js'
import { ANYTHING, checkOptions, type Kinds } from '../call-options.js'
import { appendFrame } from '../remote-relation.js'
import type { Question } from './query-result.js'

/** Rows that go with a query. */
export interface TableInput {
  readonly columns: readonly ColumnDefinition[]
  /** As for `Relation.append`. */
  readonly rows: RelationInput
}

/** By the names by which the query scans them. */
export type TableInputs = Readonly<Record<string, TableInput>>

const TABLE: Kinds<TableInput> = { columns: ANYTHING, rows: ANYTHING }

/**
 * A question with tables.
 * @throws WarpdexError `BAD_REQUEST` for what is no table, and for rows that are not of its columns
 */
export function withTables({ fields, sections }: Question, tables: TableInputs): Question {
  const packed = Object.entries(tables).map(([name, table]) => {
    checkOptions(table, TABLE, `table ${JSON.stringify(name)}`, 'field')
    const definition = { name, columns: parseColumns(table.columns) }
    return { definition, frame: appendFrame(name, table.rows, definition) }
  })
  const rows = packed.map(({ frame }, i) => [`rows.${i}`, { type: 'bytes', bytes: frame }] as const)
  return {
    fields: { ...fields, tables: packed.map(({ definition }) => definition) },
    sections: { ...sections, ...Object.fromEntries(rows) },
  }
}
