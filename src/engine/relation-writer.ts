import type { PreparedChange, StoredRelation } from '../../gpu/relational/stored/stored-relation.js'
import type { WriteOutcome } from '../../persistence/log/write-outcomes.js'
import type { Store } from '../../persistence/store.js'
import { toWarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { type AppendedRows, batchBytes, type RelationBatch } from '../../protocol/relation-batch.js'
import type { PagedStructure } from './paged-structure.js'
import { answerWrites, type IdentifiedWrite, rememberedOutcome } from './write-identity.js'

/** Rows that wait to be appended, settled by `settleBatch`. */
export interface PendingAppend extends IdentifiedWrite {
  readonly batch: RelationBatch
}

/** Has all that appends change prepared, one append after the other. */
type PrepareAll = (batches: readonly RelationBatch[]) => Promise<ReadyAppends>

/** Makes room in the indexes over columns of the relation, for rows from that number on. */
type PrepareIndexes = (batches: readonly RelationBatch[], first: number) => Promise<readonly PreparedChange[]>

/** Told of the bytes of each log record, of how many appends are in it, and how long it took until it was synced. */
type OnLogged = (bytes: number, appends: number, milliseconds: number) => void

/**
 * How appends to one relation become durable and visible, in this order: prepared, logged, applied, acknowledged. Those that come
 * together share a commit, and each has a record of its own.
 */
export class RelationWriter {
  readonly #store: Store
  readonly #id: number
  readonly #onLogged: OnLogged

  constructor(store: Store, id: number, onLogged: OnLogged) {
    this.#store = store
    this.#id = id
    this.#onLogged = onLogged
  }

  /**
   * As `answerWrites`.
   * @param prepare of the relation and the indexes over its columns, which change with it
   * @returns whether relation and indexes hold what the log holds; if not, they must be rebuilt
   */
  async run(prepare: PrepareAll, appends: readonly PendingAppend[]): Promise<boolean> {
    const remembered = ({ id }: PendingAppend) => rememberedOutcome(this.#store, this.#id, id, 'appended')
    const together = async (fresh: readonly PendingAppend[]) => {
      const ready = await prepare(fresh.map(({ batch }) => batch))
      return this.#logAndApply(ready, fresh)
    }
    return answerWrites(appends, remembered, together, (some) => this.run(prepare, some))
  }

  /** A commit takes all records or none, unless others fill it: then some may be durable and others not, and the log decides. */
  async #logAndApply(
    { places, apply, discard }: ReadyAppends,
    appends: readonly PendingAppend[],
  ): Promise<boolean> {
    const logged = await Promise.allSettled(appends.map((append, i) => this.#log(append, places[i])))
    const isWhole = logged.every(({ status }) => status === 'fulfilled')
    const isNothing = logged.every(({ status }) => status === 'rejected')
    const sound = isWhole ? apply() : isNothing
    if (!isWhole) discard()
    logged.forEach((outcome, i) => {
      if (outcome.status === 'fulfilled') appends[i].resolve({ appended: places[i] })
      else appends[i].reject(toWarpdexError(outcome.reason))
    })
    return sound
  }

  async #log({ batch, id }: PendingAppend, appended: AppendedRows): Promise<void> {
    const since = performance.now()
    const outcomes: WriteOutcome[] =
      id === undefined ? [] : [{ client: id.client, write: id.number, appended }]
    const { bytes } = await this.#store.log.append(this.#id, { batch, outcomes })
    this.#onLogged(bytes, 1, performance.now() - since)
  }
}

/** Appends of which all is known: what is left is to log and apply them, or to discard them. */
export interface ReadyAppends {
  /** Where the rows of each come to lie. */
  readonly places: readonly AppendedRows[]
  /** To be called once they are logged. @returns whether relation and indexes hold them; if not, they must be rebuilt */
  apply(): boolean
  discard(): void
}

/** Makes room in the relation and in its indexes; all change or none. */
export async function prepareAppends(
  relation: PagedStructure<StoredRelation>,
  prepareIndexes: PrepareIndexes,
  batches: readonly RelationBatch[],
): Promise<ReadyAppends> {
  const { rows } = relation.current
  const own = await relation.reserve((stored) => stored.prepare(batches))
  try {
    const all = [own, ...(await prepareIndexes(batches, rows))]
    return {
      places: placesOf(batches, rows),
      apply: () => applied(all),
      discard: () => {
        for (const each of all) each.discard()
      },
    }
  } catch (error) {
    own.discard()
    throw error
  }
}

/** The share that an append takes of those that go together. */
export function weighAppend({ batch }: PendingAppend): number {
  return Math.max(batch.rows / LIMITS.batchItems, batchBytes(batch) / LIMITS.frameBytes)
}

/** Where the rows of each append come to lie, behind those that are there. */
function placesOf(batches: readonly RelationBatch[], rows: number): AppendedRows[] {
  let first = rows
  return batches.map((batch) => {
    const place = { first, rows: batch.rows }
    first += batch.rows
    return place
  })
}

/** Once it is logged an append counts, so that a failure here means a rebuild and not an error for its writers. */
function applied(prepared: readonly PreparedChange[]): boolean {
  try {
    for (const each of prepared) each.apply()
    return true
  } catch {
    return false
  }
}
