import type { IndexStructure, PreparedWrite, WriteBatch } from '../../gpu/index-structure.js'
import type { StoredIndex } from '../../persistence/disk/dictionary.js'
import type { LoggedRange } from '../../persistence/log/log-records.js'
import type { DueEntries } from './due-entries.js'
import type { EngineHost } from './engine-host.js'
import type { Cancellation, WriteId } from './index-requests.js'
import type { IndexUpkeep } from './index-upkeep.js'
import type { IndexWriter, PendingWrite } from './index-writer.js'
import { type ReplayOptions, replay } from './loader.js'
import type { PagedStructure } from './paged-structure.js'
import { deleteLogged, type RangeTarget } from './range-deletion.js'
import { type Followers, requireWanted } from './request-queue.js'
import { rememberedOutcome } from './write-identity.js'

/**
 * Batches that overlap each other before the index gives up its place on the device, should others need it; the last of them waits for its
 * log with nothing beside it. They are some tens of millions of rows: chunks of loads, or groups of other writes, which are smaller.
 */
const IN_A_ROW = { load: 16, write: 64 }

/** What an index has from its creation on. */
export interface IndexParts {
  readonly stored: StoredIndex
  readonly writer: IndexWriter
  readonly upkeep: IndexUpkeep
}

/** The same while it can be used. */
export type LoadedIndex = IndexParts & { readonly structure: PagedStructure<IndexStructure> }

/** What changes need of their index. */
interface ChangedIndex {
  /** What there is, in the index's turn. */
  live(): LoadedIndex
  /** Fetches it from disk, in its turn. */
  recover(): Promise<void>
}

/** How an index's structure is changed, each time in a turn of the index with nothing beside it. */
export class StructureChanges {
  readonly #host: Pick<EngineHost, 'store' | 'meter'>
  readonly #index: ChangedIndex

  constructor(host: Pick<EngineHost, 'store' | 'meter'>, index: ChangedIndex) {
    this.#host = host
    this.#index = index
  }

  /** Makes sure of memory for a write. Once it is done others have made way for that. */
  prepare(structure: PagedStructure<IndexStructure>, batch: WriteBatch): Promise<PreparedWrite> {
    return structure.reserve(async (current) => {
      const since = performance.now()
      const prepared = await current.prepare(batch)
      this.#host.meter?.computed(performance.now() - since)
      return prepared
    })
  }

  /** Removes what expires until some time, and has a replica set do so. Where that is done in part only, the index is fetched from disk. */
  async removeDue(entries: DueEntries, until: number): Promise<void> {
    const { structure, writer, upkeep } = this.#index.live()
    const log = this.#host.store.role === undefined ? undefined : () => writer.logRemoval(until)
    const isSound = await structure.change(async (current) => {
      const isSound = await entries.removeOrBreak(this.#target(structure), until, log)
      if (isSound) await upkeep.afterWrites(current, false)
      return isSound
    })
    if (!isSound) await this.#index.recover()
  }

  /** Has the structure hold what its log holds, of which it holds the records up to a position. */
  async catchUp(after: number, options: Omit<ReplayOptions, 'id'>): Promise<void> {
    const { structure, stored, upkeep } = this.#index.live()
    try {
      await structure.change(async (current) => {
        const settle = (goesOn: boolean) => upkeep.afterWrites(current, goesOn)
        const target = { ...this.#target(structure), settle }
        upkeep.logged(await replay(target, after, { ...options, id: stored.id }))
      })
    } catch {
      await this.#index.recover()
    }
  }

  /** As `Index.deleteRange`. */
  async deleteRange(
    range: LoggedRange,
    id: WriteId | undefined,
    cancellation: Cancellation | undefined,
  ): Promise<number> {
    requireWanted(cancellation)
    const { structure, stored, writer, upkeep } = this.#index.live()
    const known = rememberedOutcome(this.#host.store, stored.id, id, 'deleted')?.deleted
    if (known !== undefined) return known
    const { deleted, isSound } = await structure.change(async (current) => {
      const log = (deleted: number) => writer.logRange(range, id, deleted)
      const outcome = await deleteLogged(this.#target(structure), range, log)
      if (outcome.isSound) await upkeep.afterWrites(current, false)
      return outcome
    })
    if (!isSound) await this.#index.recover()
    return deleted
  }

  /**
   * Answers a batch of writes, and those that come behind it while it is being made durable.
   * @returns whether the structure holds what the log holds
   */
  write(
    { structure, writer, upkeep }: LoadedIndex,
    writes: readonly PendingWrite[],
    followers: Followers<PendingWrite>,
  ): Promise<boolean> {
    const target = { prepare: (batch: WriteBatch) => this.prepare(structure, batch) }
    return structure.change(async (current) => {
      const isLoad = writes[0].load !== undefined
      const most = IN_A_ROW[isLoad ? 'load' : 'write']
      let sound = true
      let group = writes
      for (let batches = 1; sound && group.length > 0; batches++) {
        const goesOn = isLoad || batches > 1 || upkeep.isStreaming
        sound = await writer.run(target, group, { arrival: followers.arrival(), goesOn })
        group = sound && batches < most ? followers.take() : []
        const follows = group.length > 0
        if (sound) await (isLoad ? upkeep.afterLoad(current, follows) : upkeep.afterWrites(current, follows))
      }
      return (await writer.settled()) && sound
    })
  }

  /** What entries are deleted from. */
  #target(structure: PagedStructure<IndexStructure>): RangeTarget {
    return { structure: structure.current, prepare: (batch) => this.prepare(structure, batch) }
  }
}
