import type { Device } from '../../gpu/device/device.js'
import type { DeviceRelation } from '../../gpu/relational/device-relation.js'
import type { RelationFigures, StoredRelation } from '../../gpu/relational/stored/stored-relation.js'
import type {
  Make,
  StoredRelation as StoredDefinition,
  StoredIndex,
} from '../../persistence/disk/dictionary.js'
import type { WarpdexError } from '../../protocol/errors.js'
import type { RelationDefinition, RelationInfo } from '../../protocol/relation.js'
import { type AppendedRows, type RelationBatch, settleBatch } from '../../protocol/relation-batch.js'
import type { SnapshotInfo } from '../../protocol/replies.js'
import type { IndexDefinition } from '../../protocol/types.js'
import type { BatchTarget } from './atomic-batch.js'
import type { EngineHost } from './engine-host.js'
import { unknownRelation } from './index-errors.js'
import type { Cancellation, Reader, WriteId } from './index-requests.js'
import { type Loaded, loadRelation, pagedRelation } from './loader.js'
import { Index } from './named-index.js'
import { allHeld, type LogFigures, NamedStructure } from './named-structure.js'
import type { PagedStructure, PlaceStats } from './paged-structure.js'
import { RelationChanges } from './relation-changes.js'
import { type CompactionTurn, Compactor } from './relation-compaction.js'
import { fillIndex } from './relation-indexes.js'
import { type ReadRows, type RowsOfColumns, readColumns, readRows } from './relation-reader.js'
import { type PendingAppend, RelationWriter, weighAppend } from './relation-writer.js'
import type { ReplicaTurn } from './replica.js'
import { requireWanted } from './request-queue.js'
import type { ChangedRows, FindRows } from './row-changes.js'
import { SnapshotUpkeep } from './snapshot-upkeep.js'

interface RelationParts {
  readonly stored: StoredDefinition
  readonly writer: RelationWriter
  readonly upkeep: SnapshotUpkeep
}

type LoadedRelation = RelationParts & { readonly structure: PagedStructure<StoredRelation> }

/** A relation whose turn it is, until that is released. */
export interface HeldRelation {
  readonly structure: PagedStructure<StoredRelation>
  release(): void
}

/**
 * One named relation: the order of its requests, and their way to the columns on the device and to the store. Requests run in the
 * order of the calls, and an append is seen as a whole by all that is called after it.
 *
 * Every request may throw WarpdexError `UNKNOWN_RELATION` once the relation is dropped, `SHUTTING_DOWN` once it is closed, `CANCELLED`
 * when it was cancelled before its turn came, `DEVICE_LOST`, and what structure and store throw.
 */
export class Relation extends NamedStructure<
  RelationDefinition,
  RelationParts,
  StoredRelation,
  PendingAppend
> {
  readonly #indexes = new Set<Index>()
  readonly #changes: RelationChanges
  readonly #compactor: Compactor

  constructor(definition: RelationDefinition, host: EngineHost) {
    super(definition, host, 'relation', { weigh: weighAppend })
    this.#changes = new RelationChanges({
      host,
      definition,
      indexes: () => this.indexes,
      hold: (cancellation) => this.holdTurn('exclusive', cancellation),
      recover: () => super.recover(),
    })
    this.#compactor = new Compactor(host, definition.name, (kind) => this.#holdToCompact(kind))
  }

  /**
   * Adds rows at the end; resolves when they are durable and visible.
   *
   * @param id with it the rows are added once, and a repeat is answered as the first was
   * @throws WarpdexError also what `settleBatch` throws
   */
  async append(batch: RelationBatch, id?: WriteId, cancellation?: Cancellation): Promise<AppendedRows> {
    this.refuse()
    const settled = settleBatch(batch, this.definition)
    const { appended } = await new Promise<{ readonly appended?: AppendedRows | undefined }>(
      (resolve, reject) => {
        this.queue.write({ batch: settled, id, cancellation, resolve, reject })
      },
    )
    return appended ?? { first: 0, rows: 0 }
  }

  /**
   * Runs a task on the columns as of the last append, which stay as they are and on the device meanwhile. The task may be run twice,
   * if the device had no room for it at first. Not to be called within such a task; see `Engine.useRelations` for several relations.
   */
  async use<T>(run: (relation: DeviceRelation) => Promise<T>, reader?: Reader): Promise<T> {
    this.refuse()
    return this.queue.read(async () => {
      requireWanted(reader)
      return this.live().structure.use((stored) => run(stored.relation))
    })
  }

  /**
   * Rows in the order in which they were appended.
   *
   * @param request names columns, or none for all
   * @throws WarpdexError `BAD_REQUEST` for a column that is not there; also what `readRows` throws
   */
  async read(request: RowsOfColumns, reader?: Reader): Promise<ReadRows> {
    return this.use(
      async (relation) => readColumns(await this.host.device(), relation, this.definition, request),
      reader,
    )
  }

  /** Takes its turn, as a read, and keeps it until it is released. Takes its place in the queue before it returns. */
  async hold(reader?: Reader): Promise<HeldRelation> {
    this.refuse()
    return this.holdTurn('read', reader)
  }

  /** Appends, deletions, updates and compactions that are durable, of all times. */
  get changes(): number {
    return this.id === undefined ? 0 : this.host.store.log.last(this.id)
  }

  /** As `hold`, with nothing beside it. */
  async holdAlone(): Promise<HeldRelation> {
    this.refuse()
    return this.holdTurn('exclusive')
  }

  /** As `hold`, with turns of indexes over its columns. */
  async holdToRead(indexes: readonly Index[]): Promise<{ release(): void }> {
    const { release } = await this.hold()
    const held = await allHeld(indexes.map((index) => index.holdToRead())).catch((error) => {
      release()
      throw error
    })
    return {
      release: () => {
        for (const turn of held) turn.release()
        release()
      },
    }
  }

  /** The indexes over its columns. */
  get indexes(): readonly Index[] {
    return [...this.#indexes]
  }

  /**
   * Creates an index over its columns, with all rows that were appended before the call. Requests to the index may be made at once;
   * they wait.
   */
  async createIndex(definition: IndexDefinition): Promise<void> {
    const index = this.#indexOver(definition)
    this.refuse()
    const turn = this.holdTurn('exclusive')
    try {
      await this.host.indexes.create(index, turn)
      this.#indexes.add(index)
    } finally {
      await turn.then(
        ({ release }) => release(),
        () => {},
      )
    }
  }

  /** Makes a stored index over its columns again. */
  openIndex(stored: StoredIndex): Promise<void> {
    return this.queue.exclusive(async () => {
      const index = this.host.indexes.add(this.#indexOver(stored.definition))
      await index.open(stored)
      this.#indexes.add(index)
    })
  }

  /**
   * Drops an index over its columns, of which nothing is found by its name from now on.
   * @param leave as of `drop`
   */
  dropIndex(index: Index, leave?: () => Promise<void>): Promise<void> {
    const drop = async () => {
      await index.drop(leave)
      this.#indexes.delete(index)
    }
    return this.host.indexes.drop(index, () => this.queue.exclusive(drop))
  }

  /** What is dropped with it: the indexes over its columns, those that are being created among them. */
  get dependents(): readonly Index[] {
    return this.host.indexes.all().filter(({ definition: { of } }) => of?.relation === this.definition.name)
  }

  /**
   * Drops it with its dependents.
   * @param leave removes all of them from the store
   */
  override drop(leave?: (id: number) => Promise<void>): Promise<void> {
    const dropped = super.drop((id) => this.#leaveWith(this.indexes, [id], leave && (() => leave(id))))
    // Who drops the relation is told of a failure.
    for (const index of this.dependents) this.host.indexes.drop(index, () => dropped).catch(() => {})
    return dropped
  }

  /** Takes a snapshot of all that was appended before the call. */
  async snapshot(): Promise<SnapshotInfo> {
    return { relation: this.definition.name, ...(await this.takeSnapshot()) }
  }

  /** What it was created as, and the indexes over its columns. */
  info(): RelationInfo {
    const indexes = this.indexes.map(({ definition: { name, of } }) => ({ name, columns: of?.columns ?? [] }))
    return { ...this.definition, indexes }
  }

  stats(): RelationFacts {
    const { structure } = this.live()
    return { ...this.info(), ...structure.stats(), ...this.logFigures(), appends: this.#changes.appends }
  }

  protected override enterStore(make: Make<StoredDefinition>): Promise<unknown> {
    return this.host.store.createRelation(this.definition, make)
  }

  /** In one step with its indexes, so that a crash leaves all of them or none. */
  protected override leaveStore(id: number): Promise<void> {
    return this.#leaveWith(this.indexes, [id])
  }

  /** Leaves the store in the turns of these indexes, with those whose ids are known already. */
  async #leaveWith(
    [index, ...others]: readonly Index[],
    ids: readonly number[],
    leave?: () => Promise<void>,
  ): Promise<void> {
    if (index === undefined) return leave === undefined ? this.host.store.drop(...ids) : leave()
    await index.drop((id) => this.#leaveWith(others, [...ids, id], leave))
    this.#indexes.delete(index)
  }

  protected override unknown(): WarpdexError {
    return unknownRelation(this.definition.name)
  }

  protected override makeParts(stored: StoredDefinition): RelationParts {
    const { store, meter } = this.host
    const { id } = stored
    const upkeep = new SnapshotUpkeep(this.upkeepOptions(id))
    const writer = new RelationWriter(store, id, (bytes, appends, milliseconds) => {
      this.#changes.logged(upkeep, bytes, appends)
      meter?.logged(appends, bytes, milliseconds)
    })
    return { stored, writer, upkeep }
  }

  protected override async loadOn(
    device: Device,
    id: number,
  ): Promise<Loaded<PagedStructure<StoredRelation>>> {
    const { definition } = this
    const { structure, replayedBytes } = await loadRelation({ ...this.host, device, id, definition })
    return { structure: pagedRelation(structure, this.host, definition.columns), replayedBytes }
  }

  protected override async runWrites(
    loaded: LoadedRelation,
    appends: readonly PendingAppend[],
  ): Promise<boolean> {
    await this.#changes.append(loaded, loaded.writer, appends)
    return true
  }

  /**
   * Deletes the rows that are found, and appends those that stand in their place; resolves when that is durable and visible.
   * @param id as of `append`
   */
  async change(find: FindRows, id?: WriteId, cancellation?: Cancellation): Promise<ChangedRows> {
    this.refuse()
    try {
      return await this.#changes.change(find, id, cancellation)
    } finally {
      if (this.isLoaded) this.#compactor.runIfDue(this.live().structure.stats())
    }
  }

  /**
   * Gives the room of deleted rows back: the others get the numbers from 0 on, in their order, and the indexes over its columns have these then. Rows are
   * moved beside reads, unless something changes them meanwhile.
   */
  async compact(): Promise<void> {
    this.refuse()
    await this.#compactor.run()
  }

  /** How a compaction takes its turn. */
  async #holdToCompact(kind: 'read' | 'exclusive'): Promise<CompactionTurn> {
    const turn = await this.holdTurn(kind)
    const holdIndexes = () => this.#changes.holdIndexes(turn.structure)
    return { ...turn, id: turn.stored.id, definition: this.definition, holdIndexes }
  }

  /** Takes its turn and those of its indexes, with nothing beside them, for rows of a batch. Takes its place before it returns. */
  async holdForBatch(batch: RelationBatch): Promise<BatchTarget> {
    this.refuse()
    return this.#changes.holdForBatch(settleBatch(batch, this.definition))
  }

  /** Takes its turn, with nothing beside it, for what another replica has written to it. Takes its place before it returns. */
  holdToFollow(): Promise<ReplicaTurn> {
    return this.#changes.holdToFollow()
  }

  protected override async rebuildInTurn(): Promise<void> {
    await super.rebuildInTurn()
    for (const index of this.indexes) await index.rebuild()
  }

  protected override async recover(): Promise<void> {
    await super.recover()
    for (const index of this.indexes) await index.remake()
  }

  /** An index over its columns, which is made from its rows in its turn. */
  #indexOver(definition: IndexDefinition): Index {
    return new Index(definition, this.host, (structure) =>
      fillIndex(structure, this.definition, definition, async (names, from, limit) => {
        const device = await this.host.device()
        return this.live().structure.use((stored) =>
          readRows(device, stored.relation, names, { from, limit }),
        )
      }),
    )
  }
}

/** Figures of a relation; those of its log and of its appends are missing of a kept result, which has none. */
export interface RelationFacts extends RelationInfo, RelationFigures, PlaceStats, Partial<LogFigures> {
  /** Appends since it was loaded. */
  readonly appends?: number
  readonly [figure: string]: unknown
}
