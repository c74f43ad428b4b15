import type { PreparedWrite, WriteBatch } from '../../gpu/index-structure.js'
import type { ColumnIndex, DeviceRelation } from '../../gpu/relational/device-relation.js'
import type { PreparedChange, StoredRelation } from '../../gpu/relational/stored/stored-relation.js'
import type { WriteOutcome } from '../../persistence/log/write-outcomes.js'
import type { Store } from '../../persistence/store.js'
import type { RelationDefinition } from '../../protocol/relation.js'
import { type AppendedRows, type RelationBatch, settleBatch } from '../../protocol/relation-batch.js'
import { WriteOp } from '../../protocol/types.js'
import type { FoundRows, OldRows } from '../query/changed-rows.js'
import type { WriteId } from './index-requests.js'
import { PagedStructure } from './paged-structure.js'
import { columnsOf, type HeldIndex, keysOfRows } from './relation-indexes.js'
import { joinBatches } from './write-batch.js'

/**
 * Finds rows of a relation that stays as it is meanwhile.
 * @param old names of columns whose old values are needed
 */
export type FindRows = (relation: DeviceRelation, old: readonly string[]) => Promise<FoundRows>

/** What became of a change of rows. */
export interface ChangedRows {
  readonly deleted: number
  /** Where the rows are that stand in place of those, if any do. */
  readonly appended?: AppendedRows | undefined
}

/** A relation whose turn it is, with those of the indexes over its columns. */
export interface ChangeTarget {
  readonly id: number
  readonly definition: RelationDefinition
  readonly structure: PagedStructure<StoredRelation>
  readonly indexes: readonly HeldIndex[]
  /** Told of the bytes of the log record, and how long it took until it was synced. */
  logged(bytes: number, milliseconds: number): void
}

const NO_ROWS: RelationBatch = { rows: 0, columns: new Map() }

/**
 * Finds rows, deletes them, and appends others in their place if there are any: in one log record, and in one step for all that ask.
 * @returns also whether relation and indexes hold what the log holds; if not, they must be rebuilt
 */
export function changeRows(
  target: ChangeTarget,
  find: FindRows,
  { log }: Pick<Store, 'log'>,
  writeId: WriteId | undefined,
): Promise<{ readonly changed: ChangedRows; readonly isSound: boolean }> {
  const { id, structure, indexes, definition } = target
  const structures = [structure, ...indexes.map(({ structure }) => structure)]
  return PagedStructure.changeAll(structures, async () => {
    const { relation, rows: first } = structure.current
    const names = new Set(indexes.flatMap(({ definition: { of } }) => of?.columns ?? []))
    const found = await find({ ...relation, indexes: indexes.map(indexInTurn) }, [...names])
    const { rows: deleted } = found.removed
    const batch = found.added === undefined ? NO_ROWS : settleBatch(found.added, definition)
    const appended = batch.rows === 0 ? undefined : { first, rows: batch.rows }
    const changed = { deleted, appended }
    // What a repeat is answered with must be known, even of a change of nothing.
    if (deleted === 0 && writeId === undefined) return { changed, isSound: true }
    const removed = deleted === 0 ? undefined : found.removed
    const own = await structure.reserve((stored) => stored.prepare(batch.rows === 0 ? [] : [batch], removed))
    const prepared: (PreparedChange | PreparedWrite)[] = [own]
    const outcome = writeId && { client: writeId.client, write: writeId.number, ...changed }
    const outcomes: WriteOutcome[] = outcome === undefined ? [] : [outcome]
    const [part, ...others] = found.old
    try {
      for (const index of part === undefined ? [] : indexes) {
        prepared.push(await index.prepare(writesOf(index, definition, part, batch, first)))
      }
      const since = performance.now()
      const { bytes } = await log.append(id, { batch, removed, outcomes })
      target.logged(bytes, performance.now() - since)
    } catch (error) {
      for (const each of prepared) each.discard()
      throw error
    }
    const isSound = await applyAll(prepared, async () => {
      for (const part of others) {
        for (const index of indexes) {
          const write = await index.prepare(writesOf(index, definition, part, NO_ROWS, first))
          write.apply()
        }
      }
    })
    return { changed, isSound }
  })
}

/** What is logged counts, so that a failure means a rebuild. */
async function applyAll(
  prepared: readonly Pick<PreparedChange, 'apply'>[],
  rest: () => Promise<void>,
): Promise<boolean> {
  try {
    for (const each of prepared) each.apply()
    await rest()
    return true
  } catch {
    return false
  }
}

/** The entries of an index that go with old rows, and those that come with new ones. */
function writesOf(
  { definition: index }: HeldIndex,
  definition: RelationDefinition,
  { numbers, batch: old }: OldRows,
  added: RelationBatch,
  first: number,
): WriteBatch {
  const columns = columnsOf(definition, index)
  const deletes = { ops: WriteOp.deletePair, ...keysOfRows(old, columns, numbers) }
  if (added.rows === 0) return deletes
  return joinBatches([deletes, { ops: WriteOp.insert, ...keysOfRows(added, columns, first) }])
}

/** An index whose turn it is, as queries use it. */
function indexInTurn({ definition: { name, of }, structure }: HeldIndex): ColumnIndex {
  return { name, columns: of?.columns ?? [], use: (task) => task(structure.current) }
}
