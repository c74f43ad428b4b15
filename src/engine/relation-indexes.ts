import type { IndexStructure, PreparedWrite } from '../../gpu/index-structure.js'
import type { ColumnDefinition, RelationDefinition } from '../../protocol/relation.js'
import type { RelationBatch } from '../../protocol/relation-batch.js'
import { type IndexDefinition, WriteOp } from '../../protocol/types.js'
import type { HeldIndex } from './named-index.js'
import { keysOfRows } from './relation-keys.js'
import { joinBatches } from './write-batch.js'

/** Rows that are put into an index at a time when it is made. */
const FILL_ROWS = 2 ** 18

/** Reads rows from a place on; fewer than asked for where a reply would be too large, none past the end. */
type ReadColumns = (names: readonly string[], from: number, limit: number) => Promise<RelationBatch>

/** Puts all rows that a relation has into an empty structure of an index over its columns. */
export async function fillIndex(
  structure: IndexStructure,
  relation: RelationDefinition,
  definition: IndexDefinition,
  read: ReadColumns,
): Promise<void> {
  const columns = columnsOf(relation, definition)
  const names = columns.map(({ name }) => name)
  for (let from = 0; ; ) {
    const batch = await read(names, from, FILL_ROWS)
    if (batch.rows === 0) break
    const rows = keysOfRows(batch, columns, from)
    const prepared = await structure.prepare({ ops: WriteOp.insert, ...rows, goesOn: true })
    prepared.apply()
    await structure.compactIfWorthwhile({ inBackground: false, goesOn: true })
    from += batch.rows
  }
  await structure.compactIfWorthwhile()
}

/**
 * Makes sure of the memory that indexes over columns need for the keys of rows that are appended one batch after the other. Called while all
 * are on the device.
 * @param first number of the first row
 */
export async function prepareIndexes(
  indexes: readonly HeldIndex[],
  relation: RelationDefinition,
  batches: readonly RelationBatch[],
  first: number,
): Promise<readonly PreparedWrite[]> {
  const prepared: PreparedWrite[] = []
  try {
    for (const { prepare, definition } of indexes) {
      const columns = columnsOf(relation, definition)
      let row = first
      const parts = batches.map((batch) => {
        const keys = keysOfRows(batch, columns, row)
        row += batch.rows
        return { ops: WriteOp.insert, ...keys }
      })
      prepared.push(await prepare(joinBatches(parts)))
    }
    return prepared
  } catch (error) {
    for (const each of prepared) each.discard()
    throw error
  }
}

function columnsOf({ columns }: RelationDefinition, { of }: IndexDefinition): readonly ColumnDefinition[] {
  const names = of?.columns ?? []
  return names.flatMap((name) => columns.filter((column) => column.name === name))
}
