import type { Device } from '../../gpu/device/device.js'
import type {
  IndexStructure,
  ReadColumns,
  ReadOp,
  ReadRequest,
  ReadResults,
  ScanResult,
  WriteBatch,
} from '../../gpu/index-structure.js'
import type { ColumnIndex } from '../../gpu/relational/device-relation.js'
import { FIRST_GENERATION, type Make, type StoredIndex } from '../../persistence/disk/dictionary.js'
import type { LoggedRange } from '../../persistence/log/log-records.js'
import type { Answer } from '../../persistence/log/write-outcomes.js'
import type { Column } from '../../protocol/columns.js'
import type { IndexHandle } from '../../protocol/data-request.js'
import type { WarpdexError } from '../../protocol/errors.js'
import { type LoadCounts, type LoadResult, NO_ROWS } from '../../protocol/load.js'
import type { IndexStats, SnapshotInfo } from '../../protocol/replies.js'
import { type IndexDefinition, payloadBytes } from '../../protocol/types.js'
import { type BatchTarget, indexTarget } from './atomic-batch.js'
import { bulkLoad, type LoadOptions, type LoadSource } from './bulk-load.js'
import { ChangeFeed } from './change-feed.js'
import type { EngineHost } from './engine-host.js'
import { behind, type Expiry, expiryOf } from './expiry.js'
import { structureOf, structureReason } from './index-definitions.js'
import { madeFrom, unknownIndex } from './index-errors.js'
import { IndexReader } from './index-reader.js'
import type { Cancellation, IndexWrite, LoadPart, Reader, WriteId } from './index-requests.js'
import { IndexUpkeep } from './index-upkeep.js'
import { IndexWriter, type PendingWrite, weigh } from './index-writer.js'
import { type FillStructure, type Loaded, loadStructure, pagedIndex, shapeOf } from './loader.js'
import { NamedStructure } from './named-structure.js'
import type { PagedStats, PagedStructure } from './paged-structure.js'
import type { OpenVersion, VersionId } from './read-versions.js'
import type { HeldIndex } from './relation-indexes.js'
import type { ReplicaTurn } from './replica.js'
import type { Followers } from './request-queue.js'
import { type IndexParts, type LoadedIndex, StructureChanges } from './structure-changes.js'

/** The turn of an index that is to have another name, until it is released. */
export interface HeldForName {
  readonly id: number
  readonly generation: number
  release(): void
}

/**
 * One named index: the order of its requests, and their way to the structure on the device and to the store. Columns must have
 * passed the checks of `protocol/request-columns.ts`. Requests run in the order of the calls, and a write is seen by all that is
 * called after it.
 *
 * Every request may throw WarpdexError `UNKNOWN_INDEX` once the index is dropped, `SHUTTING_DOWN` once it is closed, `CANCELLED`
 * when it was cancelled before its turn came, `DEVICE_LOST`, and what structure and store throw.
 */
export class Index extends NamedStructure<IndexDefinition, IndexParts, IndexStructure, PendingWrite> {
  /** Only of an index over columns of a relation. */
  readonly #fill: FillStructure | undefined
  readonly #reader: IndexReader
  readonly #changes: StructureChanges
  /** Whether payloads are of kind `bytes`, so that the structure holds their rows. */
  readonly #hasRows: boolean
  /** Undefined until it is created. */
  #feed: ChangeFeed | undefined
  /** Only where entries expire; what is asked comes behind its removals. */
  readonly expiry: Expiry | undefined
  #generation = FIRST_GENERATION

  /** @param fill for an index over columns of a relation: has what it must hold put into it, in the relation's turn */
  constructor(definition: IndexDefinition, host: EngineHost, fill?: FillStructure) {
    const shape = shapeOf(definition)
    super(definition, host, 'index', {
      weigh: (write) => weigh(write, shape),
      kindOf: ({ load }) => load !== undefined,
    })
    this.#fill = fill
    this.#hasRows = payloadBytes(definition.payloadKind) === undefined
    this.#reader = new IndexReader(host, {
      queue: this.queue,
      hasRows: this.#hasRows,
      live: () => this.live(),
    })
    this.#changes = new StructureChanges(host, { live: () => this.live(), recover: () => this.recover() })
    this.expiry = expiryOf(definition, {
      clock: host.clock,
      inTurn: (task) => {
        this.#reader.copyForVersions()
        return this.queue.exclusive(task)
      },
      remove: (entries, until) => this.#changes.removeDue(entries, until),
      // Followers have what is away, too.
      isAway: () => !this.isLoaded || (this.live().structure.isOnHost && host.store.role === undefined),
      follows: () => host.store.role === 'following',
    })
  }

  override open(stored: StoredIndex): Promise<void> {
    this.#generation = stored.generation ?? FIRST_GENERATION
    return super.open(stored)
  }

  /**
   * Reads as a structure does, with payloads of kind `bytes` in the place of its rows. A scan has fewer entries than were asked for where
   * their payloads would not fit into one reply. Small gets, scans and `getNext`s that name no traversal share dispatches.
   * @param version the read version to read; what is there now without it
   * @throws WarpdexError also `VERSION_GONE`
   */
  async read<Op extends ReadOp>(
    request: ReadRequest<Op>,
    columns: ReadColumns,
    reader?: Reader,
    version?: OpenVersion,
  ): Promise<ReadResults[Op]> {
    this.refuse()
    return behind(this.expiry?.beforeRequest(), this.#reader.read(request, columns, reader, version))
  }

  /**
   * As `read`, of a scan that opens a read version of what it sees where that has more entries than it returns.
   * @throws WarpdexError also `OVERLOADED` where no more versions may be open
   */
  async readAndOpen(
    version: VersionId,
    request: ReadRequest<'scan'>,
    columns: ReadColumns,
    reader?: Reader,
  ): Promise<ScanResult> {
    this.refuse()
    return behind(this.expiry?.beforeRequest(), this.#reader.readAndOpen(version, request, columns, reader))
  }

  /** Counts the entries that are to expire, of an index that is on the device. */
  async countExpiring(): Promise<void> {
    const { entries } = this.expiry ?? {}
    if (entries === undefined || this.live().structure.isOnHost) return
    const count = () => this.live().structure.use((current) => entries.count(current))
    await behind(this.expiry?.beforeRequest(), this.queue.read(count))
  }

  /**
   * Applies an ordered batch of inserts and deletes; resolves when it is durable and visible.
   *
   * @param id with it the batch is applied once, and a repeat is answered with the first outcome
   * @returns one ResultCode an item
   */
  async write(columns: IndexWrite, id?: WriteId, cancellation?: Cancellation): Promise<Uint8Array> {
    const { codes } = await this.#write({ columns, id, cancellation })
    return codes ?? new Uint8Array(0)
  }

  /**
   * Stores a part of a bulk load. Neighbouring parts share a log record, and are stored as one write.
   *
   * @param id as in `write`
   * @throws WarpdexError also `CANCELLED` where the part before it is not stored
   */
  async load(
    columns: IndexWrite,
    load: LoadPart,
    id?: WriteId,
    cancellation?: Cancellation,
  ): Promise<LoadCounts> {
    const { counts } = await this.#write({ columns, load, id, cancellation })
    return counts ?? NO_ROWS
  }

  /**
   * Deletes all that a range holds, as a whole; resolves when that is durable and visible. The log has the range, not its keys.
   *
   * @param id as in `write`
   * @returns how many entries went
   */
  async deleteRange(range: LoggedRange, id?: WriteId, cancellation?: Cancellation): Promise<number> {
    this.#refuseWrites()
    void this.expiry?.beforeRequest()
    this.#reader.copyForVersions()
    return this.queue.exclusive(() => this.#changes.deleteRange(range, id, cancellation))
  }

  /**
   * Stores many rows, as if they were inserted in their order: in chunks of a log record and a write on the device each, which
   * are durable and visible as a whole. Reads go on meanwhile.
   *
   * @throws LoadError that says how many rows are stored
   */
  bulkLoad(source: LoadSource, options: LoadOptions = {}): Promise<LoadResult> {
    return bulkLoad(this, source, options)
  }

  /** What is written to it, in order. @throws WarpdexError `BAD_REQUEST` for an index over columns of a relation */
  get feed(): ChangeFeed {
    this.refuse()
    if (this.isDerived) throw madeFrom(this.definition, 'has no feed of changes, since it is made from')
    if (this.#feed === undefined) throw this.unknown()
    return this.#feed
  }

  /** Takes a snapshot of all that was written before the call. */
  async snapshot(): Promise<SnapshotInfo> {
    if (this.isDerived) throw madeFrom(this.definition, 'has no snapshots, since it is made from')
    return { index: this.definition.name, ...(await this.takeSnapshot()) }
  }

  /** Whether it is over columns of a relation, so that what it holds is stored there. */
  get isDerived(): boolean {
    return this.#fill !== undefined
  }

  /** Takes its turn, with nothing beside it, and keeps it until it is released: for the relation that it follows. */
  async holdAlone(): Promise<HeldIndex> {
    this.#reader.copyForVersions()
    const held = await this.holdTurn('exclusive')
    const prepare = (batch: WriteBatch) => this.#changes.prepare(held.structure, batch)
    const renumber = () => {
      this.#generation++
      return this.recover()
    }
    return { ...held, definition: this.definition, prepare, remake: () => this.recover(), renumber }
  }

  /** As `holdAlone`, for what another replica has written to it. */
  async holdToFollow(): Promise<ReplicaTurn> {
    const { stored, release } = await this.holdAlone()
    const options = { ...this.host, definition: this.definition, due: this.expiry?.entries }
    return { id: stored.id, release, catchUp: (after) => this.#changes.catchUp(after, options) }
  }

  /** As `holdAlone`, for what a batch writes to it. Takes its place before it returns. */
  async holdForBatch(columns: IndexWrite): Promise<BatchTarget> {
    this.#refuseWrites()
    void this.expiry?.beforeRequest()
    const timed = this.expiry?.timed(columns) ?? columns
    return indexTarget(await this.holdAlone(), timed)
  }

  /** Takes its turn, beside reads, and keeps it until it is released: for the conditions of a batch. Takes its place before it returns. */
  async holdToRead(): Promise<{ release(): void }> {
    this.refuse()
    void this.expiry?.beforeRequest()
    return this.holdTurn('read')
  }

  /** The first payload of each key, with its sequence number, in a turn that the caller has. */
  getInTurn(keys: Column): Promise<ReadResults['get']> {
    return this.#reader.getInTurn(keys)
  }

  /**
   * It as queries over its relation use it, in whose turn it holds what the relation has. They do not wait for it: whoever holds relations and waits for an
   * index would keep from their memory what brings it back.
   */
  get ofColumns(): ColumnIndex {
    const { name, of } = this.definition
    return {
      name,
      columns: of?.columns ?? [],
      use: (task) => {
        if (!this.isLoaded || !this.queue.startsReads) return undefined
        const { structure } = this.live()
        return structure.isAtHand ? this.queue.read(() => structure.use(task)) : undefined
      },
    }
  }

  /** By which requests name it, whatever it is called. @throws WarpdexError `UNKNOWN_INDEX` until it is created */
  get handle(): IndexHandle {
    const { id } = this
    if (id === undefined) throw this.unknown()
    return { handle: id, generation: this.#generation }
  }

  /**
   * Begins another generation of its handle, and takes its turn until that is released, so that `renamed` may give it another name. If that
   * comes to nothing, the generation is no harm: who asked by the one before opens the index again.
   * @param within the turn of the relation that it follows, if it does; without it it takes its place before it returns
   */
  async holdForName(within?: Promise<unknown>): Promise<HeldForName> {
    this.refuse()
    const generation = ++this.#generation
    this.#wakeFeed()
    if (within !== undefined) await within
    const { stored, release } = await this.holdTurn('exclusive')
    return { id: stored.id, generation, release }
  }

  /** Takes the name under which it is stored. */
  renamed({ definition, generation = FIRST_GENERATION }: StoredIndex): void {
    this.redefine(definition)
    this.#generation = generation
  }

  stats(): IndexStats & PagedStats {
    const { stored, structure } = this.live()
    return {
      ...this.definition,
      ...this.handle,
      structure: structureOf(this.definition),
      structureReason: structureReason(this.definition),
      ...structure.stats(),
      ...this.logFigures(),
      ...this.expiry?.figures,
      ...(this.#hasRows ? { storedPayloads: this.host.store.payloads.stats(stored.id) } : {}),
    }
  }

  protected override enterStore(make: Make<StoredIndex>): Promise<unknown> {
    return this.host.store.createIndex(this.definition, make)
  }

  protected override leaveStore(id: number): Promise<void> {
    return this.host.store.drop(id)
  }

  protected override unknown(): WarpdexError {
    return unknownIndex(this.definition.name)
  }

  protected override makeParts(stored: StoredIndex): IndexParts {
    const { store, budget, meter } = this.host
    const { id } = stored
    const upkeep = new IndexUpkeep({
      ...this.upkeepOptions(id),
      retainedLogBytes: this.host.feedBytes,
      hasRows: this.#hasRows,
      isCopied: () => this.#reader.isCopied,
      betweenWrites: (task) =>
        this.queue.exclusive(async () => {
          const { structure } = this.live()
          // One that is on its way to the host would come back for it.
          if (structure.isAtHand) await structure.change(task)
        }),
      withRoom: (task) => budget.withRoom(task),
    })
    const onLogged = (bytes: number, writes: number, milliseconds: number) => {
      upkeep.logged(bytes)
      meter?.logged(writes, bytes, milliseconds)
    }
    this.#feed = new ChangeFeed({
      store,
      stored,
      waits: this.host.feeds,
      positionOf: (version) => this.#reader.positionOf(version),
    })
    const due = this.expiry?.entries
    const writer = new IndexWriter(store, stored, shapeOf(this.definition), onLogged, due)
    return { stored, writer, upkeep }
  }

  protected override async loadOn(
    device: Device,
    id: number,
  ): Promise<Loaded<PagedStructure<IndexStructure>>> {
    const { definition } = this
    const options = { ...this.host, device, id, definition, fill: this.#fill, due: this.expiry?.entries }
    const { structure, replayedBytes } = await loadStructure(options)
    this.expiry?.begin()
    return { structure: pagedIndex(structure, this.host), replayedBytes }
  }

  /** Answers a batch of writes, and those that come behind it while it is being made durable. */
  protected override runWrites(
    loaded: LoadedIndex,
    writes: readonly PendingWrite[],
    followers: Followers<PendingWrite>,
  ): Promise<boolean> {
    return this.#changes.write(loaded, writes, followers)
  }

  override async drop(leave = (id: number) => this.leaveStore(id)): Promise<void> {
    const dropped = super.drop(async (id) => {
      // Its log goes, too.
      await this.#feed?.settled()
      await leave(id)
    })
    this.#wakeFeed()
    await dropped
    this.expiry?.stop()
    await this.#reader.dropCopies()
  }

  override async close(): Promise<void> {
    this.expiry?.stop()
    await super.close()
    await this.#feed?.settled()
  }

  /** Who waits for changes finds out what has become of it. */
  #wakeFeed(): void {
    if (this.id !== undefined) this.host.feeds.wake(this.id)
  }

  #refuseWrites(): void {
    this.refuse()
    if (this.isDerived) throw madeFrom(this.definition, 'takes no writes of its own; append to')
  }

  async #write(write: Omit<PendingWrite, 'resolve' | 'reject'>): Promise<Answer> {
    this.#refuseWrites()
    void this.expiry?.beforeRequest()
    const columns = this.expiry?.timed(write.columns) ?? write.columns
    this.#reader.copyForVersions()
    return new Promise((resolve, reject) => {
      const fail = (error: WarpdexError) => {
        const { course } = write.load ?? {}
        if (course !== undefined) course.failed = true
        reject(error)
      }
      this.queue.write({ ...write, columns, resolve, reject: fail })
    })
  }
}
