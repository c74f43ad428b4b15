import type {
  GetAllResult,
  GetNextResult,
  GetResult,
  IndexStructure,
  ScanResult,
} from '../../gpu/index-structure.js'
import type { ColumnIndex } from '../../gpu/relational/device-relation.js'
import type { Make, StoredIndex } from '../../persistence/disk/dictionary.js'
import type { Answer } from '../../persistence/log/write-outcomes.js'
import type { IndexHandle } from '../../protocol/data-request.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { type LoadCounts, type LoadResult, NO_ROWS } from '../../protocol/load.js'
import type { IndexStats, SnapshotInfo } from '../../protocol/replies.js'
import { type Rows, rowCount } from '../../protocol/rows.js'
import type { Explanation, Traversal } from '../../protocol/traversal.js'
import { type IndexDefinition, keyWidth } from '../../protocol/types.js'
import { NO_ENGINE_METER } from '../observe/meter.js'
import { bulkLoad, type LoadOptions, type LoadSource } from './bulk-load.js'
import type { Calibrator } from './calibrator.js'
import type { FairTurns } from './fair-turns.js'
import { GetCoalescer, SMALL_READ } from './get-coalescer.js'
import { unknownIndex } from './index-errors.js'
import { type FillStructure, loadStructure, type ReplayProgress, shapeOf } from './index-loader.js'
import type {
  Cancellation,
  IndexGetNext,
  IndexScan,
  IndexWrite,
  LoadPart,
  Reader,
  WithPayloads,
  WriteId,
} from './index-requests.js'
import { IndexUpkeep } from './index-upkeep.js'
import { IndexWriter, type PendingWrite, weigh } from './index-writer.js'
import { NamedStructure, type StructureHost } from './named-structure.js'
import { PagedIndex, type PagedStats } from './paged-index.js'
import { type PayloadColumns, PayloadReader } from './payload-reader.js'
import type { Followers } from './request-queue.js'
import { structureOf, structureReason } from './structure-choice.js'
import type { StructureFactory } from './structures.js'
import { runWrites } from './write-run.js'

/** Of all indexes, since nothing gives a handle another meaning. */
const FIRST_GENERATION = 1

/** What an index needs of its engine. */
export interface IndexHost extends StructureHost {
  readonly structures: StructureFactory
  readonly calibrator: Calibrator
  /** In which large reads of all indexes go to the device. */
  readonly turns: FairTurns
  onProgress(progress: ReplayProgress): void
}

interface IndexParts {
  readonly stored: StoredIndex
  readonly writer: IndexWriter
  readonly upkeep: IndexUpkeep
  /** Only where payloads are of kind `bytes`. */
  readonly payloads: PayloadReader | undefined
}

type LoadedIndex = IndexParts & { readonly structure: PagedIndex }

/** An index whose turn it is, until that is released. */
export interface HeldIndex {
  readonly definition: IndexDefinition
  readonly structure: PagedIndex
  readonly upkeep: IndexUpkeep
  /** Builds it anew. */
  remake(): Promise<void>
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
export class Index extends NamedStructure<IndexDefinition, IndexParts, PagedIndex, PendingWrite> {
  readonly #host: IndexHost
  readonly #gets: GetCoalescer

  /** Only of an index over columns of a relation. */
  readonly #fill: FillStructure | undefined

  /** @param fill for an index over columns of a relation: has what it must hold put into it, in the relation's turn */
  constructor(definition: IndexDefinition, host: IndexHost, fill?: FillStructure) {
    const shape = shapeOf(definition)
    super(definition, host, 'index', {
      weigh: (write) => weigh(write, shape),
      kindOf: ({ load }) => load !== undefined,
    })
    this.#host = host
    this.#fill = fill
    const { meter = NO_ENGINE_METER } = host
    this.#gets = new GetCoalescer(
      (keys, memory) => this.live().structure.current.read({ op: 'get', memory }, { keys }),
      keyWidth(definition.keyType),
      shape.payloadBytes,
      (gets, milliseconds) => meter.dispatched(gets, milliseconds),
    )
  }

  /** The first payload of each key. With a traversal the keys are looked up by themselves, and in that way. */
  get(
    bytes: Uint8Array,
    offsets?: Uint32Array,
    traversal?: Traversal,
    reader?: Reader,
  ): Promise<WithPayloads<GetResult>> {
    const keys = { bytes, offsets }
    const count = this.#count(keys)
    return this.#read(reader, count, async (structure, payloads) => {
      // Rows of payloads of kind `bytes` do not leave the process.
      const memory = payloads === undefined ? reader?.memory : undefined
      const { found, payloads: column } =
        traversal === undefined
          ? await this.#gets.get(keys, memory)
          : await structure.read({ op: 'get', traversal, memory }, { keys })
      return { found, ...(await readAll(payloads, column, found)) }
    })
  }

  /** How a get of these keys, one at least, would be done. */
  explain(
    bytes: Uint8Array,
    offsets?: Uint32Array,
    traversal?: Traversal,
    reader?: Reader,
  ): Promise<Explanation> {
    const keys = { bytes, offsets }
    return this.#read(reader, 1, (structure) => structure.read({ op: 'explain', traversal }, { keys }))
  }

  /** All payloads of each key. */
  getAll(bytes: Uint8Array, offsets?: Uint32Array, reader?: Reader): Promise<WithPayloads<GetAllResult>> {
    const keys = { bytes, offsets }
    return this.#read(reader, this.#count(keys), async (structure, payloads) => {
      const request = { op: 'getAll', limit: LIMITS.scanEntries } as const
      const { offsets, payloads: column } = await structure.read(request, { keys })
      return { offsets, ...(await readAll(payloads, column)) }
    })
  }

  /** The number of payloads of each key, u32. */
  count(bytes: Uint8Array, offsets?: Uint32Array, reader?: Reader): Promise<Uint8Array> {
    const keys = { bytes, offsets }
    return this.#read(reader, this.#count(keys), (structure) => structure.read({ op: 'count' }, { keys }))
  }

  /** The entries of each range in order; fewer than asked for where their payloads would not fit into one reply. */
  scan(request: IndexScan, reader?: Reader): Promise<WithPayloads<ScanResult>> {
    const { from, fromOffsets, to, toOffsets, tokens, tokenOffsets, ...options } = request
    const rows = (bytes: Uint8Array | undefined, offsets: Uint32Array | undefined) =>
      bytes && { bytes, offsets }
    const columns = {
      from: rows(from, fromOffsets),
      to: rows(to, toOffsets),
      tokens: rows(tokens, tokenOffsets),
    }
    const scan = { op: 'scan', ...options } as const
    return this.#read(reader, request.ranges * request.limit, (structure, payloads) =>
      payloads === undefined
        ? structure.read({ ...scan, memory: reader?.memory }, columns)
        : payloads.scan(structure, scan, columns),
    )
  }

  /** The entry that follows each key. */
  getNext(request: IndexGetNext, reader?: Reader): Promise<WithPayloads<GetNextResult>> {
    const { keys: bytes, keyOffsets: offsets, sequences, ...options } = request
    const keys = { bytes, offsets }
    return this.#read(reader, this.#count(keys), async (structure, payloads) => {
      const next = await structure.read({ op: 'getNext', ...options }, { keys, sequences })
      return { ...next, ...(await readAll(payloads, next.payloads, next.found)) }
    })
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
   * Stores many rows, as if they were inserted in their order: in chunks of a log record and a write on the device each, which
   * are durable and visible as a whole. Reads go on meanwhile.
   *
   * @throws LoadError that says how many rows are stored
   */
  bulkLoad(source: LoadSource, options: LoadOptions = {}): Promise<LoadResult> {
    return bulkLoad(this, source, options)
  }

  /** Takes a snapshot of all that was written before the call. */
  async snapshot(): Promise<SnapshotInfo> {
    if (this.isDerived) throw this.#derived('has no snapshots, since it is made from')
    return { index: this.definition.name, ...(await this.takeSnapshot()) }
  }

  /** Whether it is over columns of a relation, so that what it holds is stored there. */
  get isDerived(): boolean {
    return this.#fill !== undefined
  }

  /** Takes its turn, with nothing beside it, and keeps it until it is released: for the relation that it follows. */
  holdAlone(): Promise<HeldIndex> {
    const { definition } = this
    const remake = () => this.recover()
    return new Promise((resolve, reject) => {
      const held = async () => {
        const { structure, upkeep } = this.live()
        await new Promise<void>((release) => resolve({ definition, structure, upkeep, remake, release }))
      }
      this.queue.exclusive(held).catch(reject)
    })
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
    return { handle: id, generation: FIRST_GENERATION }
  }

  stats(): IndexStats & PagedStats {
    const { regions } = this.live().structure.stats()
    return { ...this.summary(), regions }
  }

  /** All figures but the regions. */
  summary(): IndexStats & Omit<PagedStats, 'regions'> {
    const { stored, structure, upkeep, payloads } = this.live()
    const { regions: _regions, ...figures } = structure.stats()
    const { id } = stored
    const { store } = this.#host
    return {
      ...this.definition,
      ...this.handle,
      structure: structureOf(this.definition),
      structureReason: structureReason(this.definition),
      ...figures,
      logPosition: store.log.last(id),
      logRecords: store.log.last(id) + 1 - store.log.first(id),
      snapshotPosition: upkeep.snapshots.newest?.position ?? 0,
      ...(payloads === undefined ? {} : { storedPayloads: store.payloads.stats(id) }),
    }
  }

  protected override enterStore(make: Make<StoredIndex>): Promise<unknown> {
    return this.#host.store.createIndex(this.definition, make)
  }

  protected override leaveStore(id: number): Promise<void> {
    return this.#host.store.drop(id)
  }

  protected override unknown(): WarpdexError {
    return unknownIndex(this.definition.name)
  }

  protected override makeParts(stored: StoredIndex): IndexParts {
    const { store, snapshotLogBytes } = this.#host
    const { id } = stored
    const hasRows = this.definition.payloadKind === 'bytes'
    const upkeep = new IndexUpkeep({
      store,
      id,
      snapshotLogBytes,
      hasRows,
      inTurn: (task) => this.queue.read(async () => task(this.live().structure)),
      betweenWrites: (task) =>
        this.queue.exclusive(async () => {
          const { structure } = this.live()
          if (!structure.isOnHost) await structure.change(task)
        }),
      withRoom: (task) => this.#host.budget.withRoom(task),
      isGoing: () => this.isGoing,
      warn: (what, thrown) => this.warn(what, thrown),
      onSnapshot: () => this.#host.meter?.happened('snapshot'),
    })
    const writer = new IndexWriter(store, stored, shapeOf(this.definition), (bytes, writes, milliseconds) => {
      upkeep.snapshots.logged(bytes)
      this.#host.meter?.logged(writes, bytes, milliseconds)
    })
    const payloads = hasRows ? new PayloadReader(store.payloads, id) : undefined
    return { stored, writer, upkeep, payloads }
  }

  protected override async build({ stored, upkeep }: IndexParts): Promise<PagedIndex> {
    const { definition } = this
    const { id } = stored
    const { budget } = this.#host
    const device = await this.#host.device()
    const loaded = await budget.withRoom(() =>
      loadStructure({ ...this.#host, device, id, definition, fill: this.#fill }),
    )
    const structure = new PagedIndex(loaded.structure, this.#host)
    await budget.settle(structure)
    upkeep.loaded(loaded.replayedBytes)
    return structure
  }

  protected override runWrites(
    loaded: LoadedIndex,
    writes: readonly PendingWrite[],
    followers: Followers<PendingWrite>,
  ): Promise<boolean> {
    return loaded.structure.change((current) => runWrites(loaded, current, writes, followers))
  }

  #count(keys: Rows): number {
    return rowCount(keys, keyWidth(this.definition.keyType))
  }

  /** @param weight keys that are asked for, or entries at most; a read of many waits for its turn */
  async #read<T>(
    reader: Reader | undefined,
    weight: number,
    run: (structure: IndexStructure, payloads: PayloadReader | undefined) => Promise<T>,
  ): Promise<T> {
    this.refuse()
    const { turns } = this.#host
    return this.queue.read(() => {
      const task = () => this.#runRead(reader, run)
      return weight <= SMALL_READ ? task() : turns.run(reader?.owner, weight, task)
    })
  }

  async #runRead<T>(
    reader: Reader | undefined,
    run: (structure: IndexStructure, payloads: PayloadReader | undefined) => Promise<T>,
  ): Promise<T> {
    if (reader?.cancelled === true) {
      throw new WarpdexError('CANCELLED', 'the request was cancelled before it began')
    }
    const { structure, payloads } = this.live()
    return structure.use((current) => run(current, payloads))
  }

  #derived(what: string): WarpdexError {
    const { name, of } = this.definition
    return new WarpdexError(
      'BAD_REQUEST',
      `index ${JSON.stringify(name)} ${what} relation ${JSON.stringify(of?.relation)}`,
    )
  }

  async #write(write: Omit<PendingWrite, 'resolve' | 'reject'>): Promise<Answer> {
    this.refuse()
    if (this.isDerived) throw this.#derived('takes no writes of its own; append to')
    return new Promise((resolve, reject) => {
      const fail = (error: WarpdexError) => {
        const { course } = write.load ?? {}
        if (course !== undefined) course.failed = true
        reject(error)
      }
      this.queue.write({ ...write, resolve, reject: fail })
    })
  }
}

async function readAll(
  payloads: PayloadReader | undefined,
  column: Uint8Array,
  present?: Uint8Array,
): Promise<PayloadColumns> {
  return payloads === undefined ? { payloads: column } : payloads.read(column, present)
}
