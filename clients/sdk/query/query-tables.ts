import { type ColumnDefinition, parseColumns } from '../../../protocol/relation.js'
import type { RelationInput } from '../../../protocol/relation-values.js'
import { ANYTHING, CALL_OPTIONS, type CallOptions, type Kinds } from '../call-options.js'
import { appendFrame } from '../remote-relation.js'
import type { Question } from './query-result.js'

/** Rows that go with a query. */
export interface TableInput {
  readonly columns: readonly ColumnDefinition[]
  /** As for `Relation.append`. */
  readonly rows: RelationInput
}

export interface QueryOptions extends CallOptions {
  /** Rows that the query scans as `relation(name)`, by names that go before those of relations: `batchItems` rows each at most. */
  readonly tables?: Readonly<Record<string, TableInput>> | undefined
}

export const QUERY_OPTIONS: Kinds<QueryOptions> = { tables: ANYTHING, ...CALL_OPTIONS }

/**
 * A question with tables.
 * @throws WarpdexError `BAD_REQUEST` for rows that are not of the columns
 */
export function withTables(question: Question, tables: QueryOptions['tables']): Question {
  if (!tables) return question
  const packed = Object.entries(tables).map(([name, { columns, rows }]) => {
    const definition = { name, columns: parseColumns(columns) }
    return { definition, frame: appendFrame(name, rows, definition) }
  })
  const rows = packed.map(({ frame }, i) => [`rows.${i}`, { type: 'bytes', bytes: frame }] as const)
  return () => {
    const { fields, sections } = question()
    return {
      fields: { ...fields, tables: packed.map(({ definition }) => definition) },
      sections: { ...sections, ...Object.fromEntries(rows) },
    }
  }
}
