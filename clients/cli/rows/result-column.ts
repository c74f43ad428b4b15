import { NO_VALUES, valuesOf } from '../../../protocol/columns.js'
import type { BatchColumn } from '../../../protocol/query/result.js'
import type { ColumnDefinition } from '../../../protocol/relation.js'
import type { RelationBatch } from '../../../protocol/relation-batch.js'

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** A column of a file's rows as one of a result. */
export function resultColumn(column: ColumnDefinition, { columns }: RelationBatch): BatchColumn {
  const { values = new Uint8Array(0), validity, strings } = columns.get(column.name) ?? {}
  const texts =
    column.type === 'string' ? valuesOf(strings ?? NO_VALUES).map((text) => decoder.decode(text)) : undefined
  return { ...column, values, validity, texts }
}
