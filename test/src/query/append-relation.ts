import { compareStrings } from '../../../gpu/relational/query/dictionaries.js'
import { columnOf } from '../../../protocol/columns.js'
import type { ColumnValues, RelationBatch } from '../../../protocol/relation-batch.js'
import type { Engine } from '../../../src/engine/index.js'
import { columnBytes, type HostColumn, type HostRelation, validityBytes } from './host-relation.js'

/** Creates a relation in an engine, with all rows. */
export async function appendRelation(engine: Engine, relation: HostRelation): Promise<void> {
  const { name, rows, columns } = relation
  await engine.createRelation({
    name,
    columns: columns.map(({ name, type, nullable }) => ({ name, type, nullable })),
  })
  if (rows > 0) await appendRows(engine, relation)
}

/** Appends all rows to a relation that is there. */
export async function appendRows(engine: Engine, relation: HostRelation): Promise<void> {
  await engine.relation(relation.name).append(batchOf(relation))
}

/** All rows. */
export function batchOf({ rows, columns }: HostRelation): RelationBatch {
  return { rows, columns: new Map(columns.map((column) => [column.name, columnValues(column)])) }
}

function columnValues({ type, nullable, cells }: HostColumn): ColumnValues {
  const validity = nullable ? { validity: validityBytes(cells).subarray(0, Math.ceil(cells.length / 8)) } : {}
  if (type !== 'string') return { values: columnBytes(type, cells), ...validity }
  const texts = [...new Set(cells.filter((cell) => typeof cell === 'string'))].sort(compareStrings)
  const codes = new Map(texts.map((text, code) => [text, code]))
  const values = cells.map((cell) => (typeof cell === 'string' ? codes.get(cell)! : null))
  const strings = columnOf(texts.map((text) => new TextEncoder().encode(text)))
  return { values: columnBytes('u32', values), strings, ...validity }
}
