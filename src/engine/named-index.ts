import type {
  GetAllResult,
  GetNextRequest,
  GetNextResult,
  GetResult,
  IndexStructure,
  ScanResult,
} from '../../gpu/index-structure.js'
import type { StoredIndex } from '../../persistence/dictionary.js'
import type { Store } from '../../persistence/store.js'
import type { Answer } from '../../persistence/write-outcomes.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { type LoadCounts, type LoadResult, NO_ROWS } from '../../protocol/load.js'
import type { IndexStats, SnapshotInfo } from '../../protocol/messages.js'
import { rowCount } from '../../protocol/rows.js'
import type { Explanation, Traversal } from '../../protocol/traversal.js'
import { type IndexDefinition, keyWidth } from '../../protocol/types.js'
import { NO_ENGINE_METER } from '../observe/meter.js'
import { bulkLoad, type LoadOptions, type LoadSource } from './bulk-load.js'
import type { Calibrator } from './calibrator.js'
import type { FairTurns } from './fair-turns.js'
import { GetCoalescer, SMALL_READ } from './get-coalescer.js'
import { rebuilding, unknownIndex } from './index-errors.js'
import { loadStructure, type ReplayProgress, shapeOf } from './index-loader.js'
import type { IndexNames } from './index-names.js'
import type {
  Cancellation,
  IndexScan,
  IndexWrite,
  LoadPart,
  Reader,
  WithPayloads,
  WriteId,
} from './index-requests.js'
import { IndexUpkeep } from './index-upkeep.js'
import { IndexWriter, type PendingWrite, weigh } from './index-writer.js'
import { type PagedStats, PagedStructure, type PagingHost } from './paged-structure.js'
import { type PayloadColumns, PayloadReader } from './payload-reader.js'
import { RequestQueue } from './request-queue.js'
import { structureOf, structureReason } from './structure-choice.js'
import { runWrites } from './write-run.js'

/** What an index needs of its engine. */
export interface IndexHost extends PagingHost {
  readonly store: Store
  /** Where indexes are entered as long as they exist. */
  readonly names: IndexNames
  readonly calibrator: Calibrator
  /** In which large reads of all indexes go to the device. */
  readonly turns: FairTurns
  readonly snapshotLogBytes: number
  /** Ends the loading of indexes once it is aborted. */
  readonly stop: AbortSignal | undefined
  onProgress(progress: ReplayProgress): void
  onWarning(message: string): void
}

/** What an index has from its creation on, whatever becomes of the device. */
interface Parts {
  readonly stored: StoredIndex
  readonly writer: IndexWriter
  readonly upkeep: IndexUpkeep
  /** Only where payloads are of kind `bytes`. */
  readonly payloads: PayloadReader | undefined
}

interface Loaded extends Parts {
  readonly structure: PagedStructure
}

/**
 * One named index: the order of its requests, and their way to the structure on the device and to the store. Columns must have
 * passed the checks of `protocol/request-columns.ts`. Requests run in the order of the calls, and a write is seen by all that is
 * called after it.
 *
 * Every request may throw WarpdexError `UNKNOWN_INDEX` once the index is dropped, `SHUTTING_DOWN` once it is closed, `CANCELLED`
 * when it was cancelled before its turn came, `DEVICE_LOST`, and what structure and store throw.
 */
export class Index {
  readonly definition: IndexDefinition
  readonly #host: IndexHost
  readonly #queue: RequestQueue<PendingWrite>
  readonly #gets: GetCoalescer
  #parts: Parts | undefined
  /** Undefined while there is no structure: before the creation, during a rebuild, and in the end. */
  #loaded: Loaded | undefined
  /** Why new requests are refused for good. */
  #refusal: WarpdexError | undefined
  /** Why the structure could not be rebuilt. */
  #failure: WarpdexError | undefined

  constructor(definition: IndexDefinition, host: IndexHost) {
    this.definition = definition
    this.#host = host
    const shape = shapeOf(definition)
    const { meter = NO_ENGINE_METER } = host
    this.#queue = new RequestQueue(
      (writes, more) => this.#runWrites(writes, more),
      (write) => weigh(write, shape),
      ({ load }) => load !== undefined,
      (milliseconds) => meter.waited(milliseconds),
    )
    this.#gets = new GetCoalescer(
      ({ bytes, offsets }, memory) => this.#live().structure.current.get(bytes, offsets, undefined, memory),
      keyWidth(definition.keyType),
      shape.payloadBytes,
      (gets, milliseconds) => meter.dispatched(gets, milliseconds),
    )
  }

  /** The first payload of each key. With a traversal the keys are looked up by themselves, and in that way. */
  get(
    keys: Uint8Array,
    keyOffsets?: Uint32Array,
    traversal?: Traversal,
    reader?: Reader,
  ): Promise<WithPayloads<GetResult>> {
    const count = this.#count(keys, keyOffsets)
    return this.#read(reader, count, async (structure, payloads) => {
      // Rows of payloads of kind `bytes` do not leave the process.
      const memory = payloads === undefined ? reader?.memory : undefined
      const { found, payloads: column } =
        traversal === undefined
          ? await this.#gets.get({ bytes: keys, offsets: keyOffsets }, memory)
          : await structure.get(keys, keyOffsets, traversal, memory)
      return { found, ...(await readAll(payloads, column, found)) }
    })
  }

  /** How a get of these keys, one at least, would be done. */
  explain(
    keys: Uint8Array,
    keyOffsets?: Uint32Array,
    traversal?: Traversal,
    reader?: Reader,
  ): Promise<Explanation> {
    return this.#read(reader, 1, (structure) => structure.explain(keys, keyOffsets, traversal))
  }

  /** All payloads of each key. */
  getAll(keys: Uint8Array, keyOffsets?: Uint32Array, reader?: Reader): Promise<WithPayloads<GetAllResult>> {
    return this.#read(reader, this.#count(keys, keyOffsets), async (structure, payloads) => {
      const { offsets, payloads: column } = await structure.getAll(keys, LIMITS.scanEntries, keyOffsets)
      return { offsets, ...(await readAll(payloads, column)) }
    })
  }

  /** The number of payloads of each key, u32. */
  count(keys: Uint8Array, keyOffsets?: Uint32Array, reader?: Reader): Promise<Uint8Array> {
    return this.#read(reader, this.#count(keys, keyOffsets), (structure) => structure.count(keys, keyOffsets))
  }

  /** The entries of each range in order; fewer than asked for where their payloads would not fit into one reply. */
  scan(request: IndexScan, reader?: Reader): Promise<WithPayloads<ScanResult>> {
    return this.#read(reader, request.ranges * request.limit, (structure, payloads) =>
      payloads === undefined
        ? structure.scan({ ...request, memory: reader?.memory })
        : payloads.scan(structure, request),
    )
  }

  /** The entry that follows each key. */
  getNext(request: GetNextRequest, reader?: Reader): Promise<WithPayloads<GetNextResult>> {
    return this.#read(reader, this.#count(request.keys, request.keyOffsets), async (structure, payloads) => {
      const next = await structure.getNext(request)
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
    this.#refuse()
    await this.ready()
    const { position, bytes } = await this.#live().upkeep.takeSnapshot()
    return { index: this.definition.name, position, bytes }
  }

  stats(): IndexStats & PagedStats {
    const { regions } = this.#live().structure.stats()
    return { ...this.summary(), regions }
  }

  /** All figures but the regions. */
  summary(): IndexStats & Omit<PagedStats, 'regions'> {
    const { stored, structure, upkeep, payloads } = this.#live()
    const { regions: _regions, ...figures } = structure.stats()
    const { id } = stored
    const { store } = this.#host
    return {
      ...this.definition,
      structure: structureOf(this.definition),
      structureReason: structureReason(this.definition),
      ...figures,
      logPosition: store.log.last(id),
      logRecords: store.log.last(id) + 1 - store.log.first(id),
      snapshotPosition: upkeep.snapshots.newest?.position ?? 0,
      ...(payloads === undefined ? {} : { storedPayloads: store.payloads.stats(id) }),
    }
  }

  /** Bytes of memory that it takes, on the device or on the host; 0 while it is not loaded. */
  get bytes(): number {
    if (this.#loaded === undefined) return 0
    const { deviceBytes, hostBytes } = this.#loaded.structure.stats()
    return deviceBytes + hostBytes
  }

  /** The index's id, once it is there. */
  get id(): number | undefined {
    return this.#parts?.stored.id
  }

  /** Whether the index is there, as opposed to being created. It is there while it is rebuilt. */
  get exists(): boolean {
    return this.#parts !== undefined
  }

  /** Whether the index can be used. It may be paged out. */
  get isLoaded(): boolean {
    return this.#loaded !== undefined
  }

  /** Resolves when everything before the call is done; rejects when the index did not come to be. */
  ready(): Promise<void> {
    return this.#queue.read(async () => void this.#live())
  }

  /** Brings a stored index to the device. Requests may be made at once; they wait. */
  open(stored: StoredIndex): Promise<void> {
    return this.#start(() => this.#load(stored))
  }

  /**
   * Creates the index. Requests may be made at once; they wait.
   * @param after what must be done before, if anything
   */
  create(after: Promise<void> | undefined): Promise<void> {
    return this.#start(async () => {
      await after
      const stored = await this.#host.store.createIndex(this.definition)
      try {
        await this.#load(stored)
      } catch (error) {
        this.#host.names.leave(this.definition.name)
        await this.#host.store.dropIndex(stored.id)
        throw error
      }
    })
  }

  /** Brings the index to another device, unless it is on none. Requests that are running fail, those made after the call wait. */
  rebuild(): Promise<void> {
    return this.#queue.exclusive(async () => {
      if (this.#parts === undefined || this.#loaded?.structure.isOnHost === true) return
      await this.#reload(this.#parts)
    })
  }

  /** Answers what came before, then removes the index for good. If the store cannot do that, the index stays. */
  drop(): Promise<void> {
    const { name } = this.definition
    const before = this.#refusal
    this.#refusal = unknownIndex(name)
    return this.#queue.exclusive(async () => {
      this.#host.names.leave(name)
      await this.#unload()
      if (this.#parts === undefined) return
      const { id } = this.#parts.stored
      try {
        await this.#host.store.dropIndex(id)
      } catch (error) {
        this.#refusal = before
        await this.#host.names.enter(name, id)
        await this.#reload(this.#parts)
        throw error
      }
    })
  }

  /** Answers what came before, takes a snapshot if that is worthwhile, and gives the device memory back. */
  async close(): Promise<void> {
    this.#refusal ??= new WarpdexError(
      'SHUTTING_DOWN',
      'the server is shutting down; try again when it is back',
    )
    await this.#queue.exclusive(async () => {})
    await this.#parts?.upkeep.end(this.#loaded !== undefined)
    await this.#queue.exclusive(() => this.#unload())
  }

  #start(load: () => Promise<void>): Promise<void> {
    return this.#queue.exclusive(async () => {
      try {
        await load()
      } catch (error) {
        this.#refusal = toWarpdexError(error)
        throw error
      }
    })
  }

  async #load(stored: StoredIndex): Promise<void> {
    const { store, names, snapshotLogBytes } = this.#host
    const { name, payloadKind } = this.definition
    await names.enter(name, stored.id)
    const { id } = stored
    const hasRows = payloadKind === 'bytes'
    const upkeep = new IndexUpkeep({
      store,
      id,
      snapshotLogBytes,
      hasRows,
      inTurn: (task) => this.#queue.read(async () => task(this.#live().structure)),
      withRoom: (task) => this.#host.budget.withRoom(task),
      isGoing: () => this.#refusal !== undefined,
      warn: (what, thrown) => this.#warn(what, thrown),
      onSnapshot: () => this.#host.meter?.happened('snapshot'),
    })
    const { snapshots } = upkeep
    const writer = new IndexWriter(store, stored, shapeOf(this.definition), (bytes, writes, milliseconds) => {
      snapshots.logged(bytes)
      this.#host.meter?.logged(writes, bytes, milliseconds)
    })
    const payloads = hasRows ? new PayloadReader(store.payloads, id) : undefined
    const { structure, replayedBytes } = await this.#loadStructure(id)
    snapshots.logged(replayedBytes)
    this.#parts = { stored, writer, upkeep, payloads }
    this.#loaded = { ...this.#parts, structure }
  }

  /** Builds the structure anew from what is stored. If that fails the index answers nothing. */
  async #reload(parts: Parts): Promise<void> {
    await this.#unload()
    try {
      const { structure } = await this.#loadStructure(parts.stored.id)
      this.#loaded = { ...parts, structure }
    } catch (thrown) {
      const { code, message } = toWarpdexError(thrown)
      this.#warn('could not be rebuilt', thrown)
      this.#failure = new WarpdexError(code, `the index could not be rebuilt: ${message}; restart the server`)
    }
  }

  async #loadStructure(id: number): Promise<{ structure: PagedStructure; replayedBytes: number }> {
    const { definition } = this
    const { budget } = this.#host
    const device = await this.#host.device()
    const loaded = await budget.withRoom(() => loadStructure({ ...this.#host, device, id, definition }))
    const structure = new PagedStructure(loaded.structure, this.#host)
    await budget.settle(structure)
    return { structure, replayedBytes: loaded.replayedBytes }
  }

  /** Called with nothing else of the index running. */
  async #unload(): Promise<void> {
    const loaded = this.#loaded
    this.#loaded = undefined
    this.#failure = undefined
    await loaded?.upkeep.stop()
    await loaded?.structure.destroy()
  }

  #count(keys: Uint8Array, keyOffsets: Uint32Array | undefined): number {
    return rowCount({ bytes: keys, offsets: keyOffsets }, keyWidth(this.definition.keyType))
  }

  /** @param weight keys that are asked for, or entries at most; a read of many waits for its turn */
  #read<T>(
    reader: Reader | undefined,
    weight: number,
    run: (structure: IndexStructure, payloads: PayloadReader | undefined) => Promise<T>,
  ): Promise<T> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal)
    const { turns } = this.#host
    return this.#queue.read(() => {
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
    const { structure, payloads } = this.#live()
    return structure.use((current) => run(current, payloads))
  }

  async #write(write: Omit<PendingWrite, 'resolve' | 'reject'>): Promise<Answer> {
    this.#refuse()
    return new Promise((resolve, reject) => {
      const fail = (error: WarpdexError) => {
        const { course } = write.load ?? {}
        if (course !== undefined) course.failed = true
        reject(error)
      }
      this.#queue.write({ ...write, resolve, reject: fail })
    })
  }

  async #runWrites(writes: readonly PendingWrite[], more: () => readonly PendingWrite[]): Promise<void> {
    const loaded = this.#loaded
    if (loaded === undefined) {
      for (const { reject } of writes) reject(this.#absence())
      return
    }
    const { structure } = loaded
    try {
      const sound = await structure.change((current) => runWrites(loaded, current, writes, more))
      if (!sound) await this.#reload(loaded)
    } catch (thrown) {
      // The writer answers every write, so it did not come to that: the structure was not to be had.
      for (const { reject } of writes) reject(toWarpdexError(thrown))
    }
  }

  #live(): Loaded {
    if (this.#loaded !== undefined) return this.#loaded
    throw this.#absence()
  }

  /** Why there is no structure. */
  #absence(): WarpdexError {
    const { name } = this.definition
    if (this.#parts === undefined) return this.#refusal ?? unknownIndex(name)
    return this.#failure ?? this.#refusal ?? rebuilding(name)
  }

  #refuse(): void {
    if (this.#refusal !== undefined) throw this.#refusal
  }

  #warn(what: string, thrown: unknown): void {
    const { name } = this.definition
    this.#host.onWarning(`index ${JSON.stringify(name)} ${what}: ${toWarpdexError(thrown).message}`)
  }
}

async function readAll(
  payloads: PayloadReader | undefined,
  column: Uint8Array,
  present?: Uint8Array,
): Promise<PayloadColumns> {
  return payloads === undefined ? { payloads: column } : payloads.read(column, present)
}
