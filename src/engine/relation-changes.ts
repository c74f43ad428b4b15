import type { StoredRelation } from '../../gpu/relational/stored/stored-relation.js'
import type { StoredRelation as StoredDefinition } from '../../persistence/disk/dictionary.js'
import type { RelationDefinition } from '../../protocol/relation.js'
import type { RelationBatch } from '../../protocol/relation-batch.js'
import type { BatchTarget } from './atomic-batch.js'
import type { EngineHost } from './engine-host.js'
import type { Cancellation, WriteId } from './index-requests.js'
import type { Index } from './named-index.js'
import { allHeld } from './named-structure.js'
import { PagedStructure } from './paged-structure.js'
import { type HeldIndex, prepareIndexes } from './relation-indexes.js'
import {
  type PendingAppend,
  prepareAppends,
  type ReadyAppends,
  type RelationWriter,
} from './relation-writer.js'
import type { ReplicaTurn } from './replica.js'
import { type ChangedRows, changeRows, type FindRows } from './row-changes.js'
import type { SnapshotUpkeep } from './snapshot-upkeep.js'
import { rememberedOutcome } from './write-identity.js'

/** A relation in its turn. */
interface RelationInTurn {
  readonly stored: StoredDefinition
  readonly structure: PagedStructure<StoredRelation>
  readonly upkeep: SnapshotUpkeep
}

/** Indexes over the columns of a relation in their turns, until they are released, and how rows come to it and to them. */
interface HeldIndexes extends Pick<BatchTarget, 'structures' | 'settle' | 'remake' | 'release'> {
  readonly indexes: readonly HeldIndex[]
  prepare(batches: readonly RelationBatch[]): Promise<ReadyAppends>
}

interface ChangesOptions {
  readonly host: Pick<EngineHost, 'store' | 'meter'>
  readonly definition: RelationDefinition
  /** Those over its columns. */
  readonly indexes: () => readonly Index[]
  /** Takes the relation's turn, with nothing beside it. Takes its place before it returns. */
  readonly hold: (cancellation?: Cancellation) => Promise<RelationInTurn & { release(): void }>
  /** Makes the relation anew, in its turn. */
  readonly recover: () => Promise<void>
}

/** How the rows of one relation change, and with them the indexes over its columns, whose turns are taken in its own. */
export class RelationChanges {
  readonly #options: ChangesOptions
  #appends = 0

  constructor(options: ChangesOptions) {
    this.#options = options
  }

  /** How many were logged. */
  get appends(): number {
    return this.#appends
  }

  /** Told of what was logged. */
  logged(upkeep: SnapshotUpkeep, bytes: number, appends: number): void {
    upkeep.logged(bytes)
    this.#appends += appends
  }

  /** Answers appends in the relation's turn. Where they are logged and cannot be applied, the relation is made anew, with its indexes. */
  async append(
    { structure, upkeep }: RelationInTurn,
    writer: RelationWriter,
    appends: readonly PendingAppend[],
  ): Promise<void> {
    const { structures, prepare, settle, remake, release } = await this.holdIndexes(structure)
    try {
      const sound = await PagedStructure.changeAll(structures, async () => {
        const sound = await writer.run(prepare, appends)
        if (sound) await settle()
        return sound
      })
      if (!sound) await remake()
    } finally {
      release()
      upkeep.takeIfDue()
    }
  }

  /** As `Relation.change`. */
  async change(find: FindRows, id?: WriteId, cancellation?: Cancellation): Promise<ChangedRows> {
    const { definition, hold, host } = this.#options
    const own = await hold(cancellation)
    try {
      const { stored, upkeep, structure } = own
      const known = rememberedOutcome(host.store, stored.id, id, 'deleted')
      if (known !== undefined) return { deleted: known.deleted ?? 0, appended: known.appended }
      const { indexes, settle, remake, release } = await this.holdIndexes(structure)
      try {
        const logged = (bytes: number, milliseconds: number) => {
          this.logged(upkeep, bytes, 1)
          host.meter?.logged(1, bytes, milliseconds)
        }
        const target = { id: stored.id, definition, structure, indexes, logged }
        const { changed, isSound } = await changeRows(target, find, host.store, id)
        await (isSound ? settle() : remake())
        return changed
      } finally {
        release()
      }
    } finally {
      own.release()
      own.upkeep.takeIfDue()
    }
  }

  /** As `Relation.holdForBatch`. */
  async holdForBatch(rows: RelationBatch): Promise<BatchTarget> {
    const own = await this.#options.hold()
    try {
      const held = await this.holdIndexes(own.structure)
      return {
        ...held,
        id: own.stored.id,
        prepare: async () => {
          const { places, apply, discard } = await held.prepare([rows])
          return { record: { batch: rows }, appended: places[0], apply, discard }
        },
        logged: (bytes) => this.logged(own.upkeep, bytes, 1),
        release: () => {
          held.release()
          own.release()
          own.upkeep.takeIfDue()
        },
      }
    } catch (error) {
      own.release()
      throw error
    }
  }

  /** As `Relation.holdToFollow`. */
  async holdToFollow(): Promise<ReplicaTurn> {
    const own = await this.#options.hold()
    return { id: own.stored.id, release: own.release, catchUp: (after) => this.#catchUp(own, after) }
  }

  /** Takes the turns of the indexes, in that of the relation. */
  async holdIndexes(structure: PagedStructure<StoredRelation>): Promise<HeldIndexes> {
    const { definition, indexes, recover } = this.#options
    const held = await allHeld(indexes().map((index) => index.holdAlone()))
    const prepareHeld = (batches: readonly RelationBatch[], first: number) =>
      prepareIndexes(held, definition, batches, first)
    return {
      indexes: held,
      structures: [structure, ...held.map(({ structure }) => structure)],
      prepare: (batches) => prepareAppends(structure, prepareHeld, batches),
      settle: async () => {
        for (const { structure, upkeep } of held) await upkeep.afterWrites(structure.current, false)
      },
      remake: async () => {
        // Within the turns of the indexes: what was stored is acknowledged, and must be found by them from then on.
        await recover()
        for (const { remake } of held) await remake()
      },
      release: () => {
        for (const { release } of held) release()
      },
    }
  }

  /** Rows that were deleted or moved by another replica have it made anew, with its indexes. */
  async #catchUp({ stored, structure, upkeep }: RelationInTurn, after: number): Promise<void> {
    const { log } = this.#options.host.store
    const { structures, prepare, settle, remake, release } = await this.holdIndexes(structure)
    const appendLogged = async () => {
      for await (const { batch, removed, compacts, bytes } of log.readAppends(stored.id, after)) {
        if (removed !== undefined || compacts === true) return false
        const { apply } = await prepare([batch])
        if (!apply()) return false
        this.logged(upkeep, bytes, 1)
      }
      await settle()
      return true
    }
    try {
      const isSound = await PagedStructure.changeAll(structures, appendLogged).catch(() => false)
      if (!isSound) await remake()
    } finally {
      release()
      upkeep.takeIfDue()
    }
  }
}
