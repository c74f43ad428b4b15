import { type AdapterFacts, Device } from '../../gpu/device/device.js'
import type { DeviceRelation } from '../../gpu/relational/device-relation.js'
import { Store } from '../../persistence/store.js'
import type { IndexHandle } from '../../protocol/data-request.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { RelationDefinition, RelationInfo } from '../../protocol/relation.js'
import type {
  BackupInfo,
  BackupProgress,
  IndexStats,
  ReplyFields,
  SnapshotInfo,
} from '../../protocol/replies.js'
import type { IndexDefinition } from '../../protocol/types.js'
import { Queries } from '../query/queries.js'
import type { QueryHost } from '../query/query-host.js'
import { queryMemoryLimits } from '../query/query-memory.js'
import { VERSION } from '../version.js'
import { takeSnapshots } from './all-snapshots.js'
import { backupPath } from './backup-path.js'
import { Calibrations } from './calibrations.js'
import { SYSTEM_CLOCK } from './clock.js'
import { DeviceBudget } from './device-budget.js'
import type { EngineOptions } from './engine-options.js'
import type { EngineStats } from './engine-stats.js'
import { FairTurns } from './fair-turns.js'
import type { RelationIndexDefinition } from './index-definitions.js'
import type { Reader } from './index-requests.js'
import { type CreatedIndex, Indexes } from './indexes.js'
import type { KeptResult } from './kept-result.js'
import type { KeptHost } from './kept-results.js'
import { LiveDevice, type LiveDeviceHost } from './live-device.js'
import { meteredStructures } from './metered-structures.js'
import type { Index, IndexHost } from './named-index.js'
import type { Relation, RelationHost } from './named-relation.js'
import type { PagedStats } from './paged-index.js'
import { Registry } from './registry.js'
import { type DropRelationOptions, Relations } from './relations.js'
import { prefixTrees, type StructureFactory } from './structures.js'

const SNAPSHOT_LOG_BYTES = 256 * 2 ** 20

/** All indexes and relations of one data directory on one device. */
export class Engine {
  readonly #store: Store
  readonly #options: EngineOptions
  readonly #budget: DeviceBudget
  readonly #structures: StructureFactory
  readonly #calibrations: Calibrations
  readonly #host: IndexHost & RelationHost & KeptHost
  readonly #indexes: Indexes
  readonly #relations: Relations
  /** Queries over the relations. */
  readonly queries: Queries
  readonly #openedAt = performance.now()
  readonly #device: LiveDevice
  #closing: Promise<void> | undefined
  /** Indexes that a close waits for. */
  readonly #unclosed = new Set<string>()
  #backup: BackupProgress | undefined

  private constructor(
    store: Store,
    device: Device,
    openDevice: () => Promise<Device>,
    options: EngineOptions,
  ) {
    this.#store = store
    this.#options = options
    this.#budget = new DeviceBudget(options.deviceMemory ?? Number.POSITIVE_INFINITY)
    const { structures = prefixTrees, meter } = options
    this.#structures = meter === undefined ? structures : meteredStructures(structures, meter)
    this.#calibrations = new Calibrations(options, this.#structures)
    const { onProgress = () => {}, onWarning = () => {} } = options
    this.#host = {
      store,
      budget: this.#budget,
      structures: this.#structures,
      calibrator: this.#calibrations.traversals,
      turns: new FairTurns(LIMITS.readsUnderWay),
      indexes: new Registry<Index>(),
      snapshotLogBytes: options.snapshotLogBytes ?? SNAPSHOT_LOG_BYTES,
      device: () => this.#device.current,
      clock: options.clock ?? SYSTEM_CLOCK,
      onProgress,
      onWarning,
      stop: options.stop,
      meter,
    }
    this.#relations = new Relations(this.#host)
    this.#indexes = new Indexes(this.#host, this.#relations)
    this.queries = new Queries(
      this.#queryHost(),
      queryMemoryLimits(options.queryMemory, options.queryMemoryInAll, device.facts.software),
    )
    this.#device = new LiveDevice(device, this.#deviceHost(openDevice))
  }

  /**
   * Opens the store and the device and brings all indexes to it.
   * @throws WarpdexError `NO_ADAPTER`, `DAMAGED_FILE`, `OUT_OF_DEVICE_MEMORY`, or `BAD_REQUEST` when another process has the
   * directory open
   */
  static async open(options: EngineOptions): Promise<Engine> {
    const { directory, adapter, deviceMemory = Number.POSITIVE_INFINITY } = options
    const openDevice = async () => {
      const device = await (options.openDevice ?? (() => Device.open(adapter)))()
      device.structureBytes = deviceMemory
      return device
    }
    const store = await Store.open(directory, options)
    let engine: Engine | undefined
    try {
      engine = new Engine(store, await openDevice(), openDevice, options)
      await engine.#load()
      return engine
    } catch (error) {
      await (engine ?? store).close()
      throw error
    }
  }

  /** Why requests are not answered at the moment, in words for people; undefined when they are. */
  get interruption(): string | undefined {
    return this.#closing === undefined ? this.#device.interruption : 'the server is shutting down'
  }

  /** What the engine computes on. */
  get adapter(): AdapterFacts {
    return this.#device.adapter
  }

  /**
   * Creates an index. Requests to it may be made at once; they wait.
   * @returns false if `ifNotExists` is set and there is such an index already
   * @throws WarpdexError `INDEX_EXISTS`, `TOO_LARGE`, `BAD_REQUEST` for a layout that is none, or not for such keys
   */
  async createIndex(definition: IndexDefinition, options: { ifNotExists?: boolean } = {}): Promise<boolean> {
    this.#refuse()
    return this.#indexes.create(definition, options)
  }

  /**
   * Creates an index over columns of a relation, whose payloads are the numbers of rows. Rows without a value in any of the columns
   * are not in it. It follows the relation, and goes with it.
   *
   * @param definition keys are the values of one column, or tuples of those of several
   * @returns its definition; it may be gone by then
   * @throws WarpdexError as `createIndex`, and `UNKNOWN_RELATION`
   */
  async createRelationIndex(
    definition: RelationIndexDefinition,
    options: { ifNotExists?: boolean } = {},
  ): Promise<CreatedIndex> {
    return this.#indexes.createOver(this.relation(definition.relation), definition, options)
  }

  /**
   * Removes an index with all its data.
   * @returns false if `ifExists` is set and there is no such index
   * @throws WarpdexError `UNKNOWN_INDEX`
   */
  async dropIndex(name: string, options: { ifExists?: boolean } = {}): Promise<boolean> {
    this.#refuse()
    return this.#indexes.drop(name, options)
  }

  list(): readonly IndexDefinition[] {
    return this.#indexes.list()
  }

  /** @throws WarpdexError `UNKNOWN_INDEX`, `SHUTTING_DOWN` */
  index(name: string): Index {
    this.#refuse()
    return this.#indexes.get(name)
  }

  /**
   * The index that a handle stands for, as `Index.handle` gives it.
   * @throws WarpdexError `UNKNOWN_INDEX`, `INDEX_CHANGED` for another generation, `SHUTTING_DOWN`
   */
  openedIndex(handle: IndexHandle): Index {
    this.#refuse()
    return this.#indexes.opened(handle)
  }

  /**
   * Creates a relation. Requests to it may be made at once; they wait.
   * @returns false if `ifNotExists` is set and there is such a relation already
   * @throws WarpdexError `RELATION_EXISTS`
   */
  async createRelation(
    definition: RelationDefinition,
    options: { ifNotExists?: boolean } = {},
  ): Promise<boolean> {
    this.#refuse()
    return this.#relations.create(definition, options)
  }

  /**
   * Removes a relation with all its rows, and the indexes over its columns.
   * @returns false if `ifExists` is set and there is no such relation
   * @throws WarpdexError `UNKNOWN_RELATION`, and what `authorise` throws
   */
  async dropRelation(name: string, options: DropRelationOptions = {}): Promise<boolean> {
    this.#refuse()
    return this.#relations.drop(name, options)
  }

  relations(): readonly RelationInfo[] {
    return this.#relations.list()
  }

  /** @throws WarpdexError `UNKNOWN_RELATION`, `SHUTTING_DOWN`, and `BAD_REQUEST` for the kept result of a query */
  relation(name: string): Relation {
    this.#refuse()
    return this.#relations.get(name)
  }

  /** @throws WarpdexError `UNKNOWN_RELATION`, `SHUTTING_DOWN` */
  readableRelation(name: string): Relation | KeptResult {
    this.#refuse()
    return this.#relations.readable(name)
  }

  /**
   * Runs a task on the columns of several relations, which stay as they are and on the device meanwhile; it sees whole appends.
   * @param names may name a relation twice
   */
  async useRelations<T>(
    names: readonly string[],
    run: (relations: ReadonlyMap<string, DeviceRelation>) => Promise<T>,
    reader?: Reader,
  ): Promise<T> {
    this.#refuse()
    return this.#relations.use(names, run, reader)
  }

  /** Figures of the server, and of one index, or all indexes and relations; those of all indexes are without their regions, since there may be thousands. */
  stats(name?: string): EngineStats {
    const all = this.#indexes.stats()
    const relations = this.#relations.stats()
    const paged = [...all, ...relations]
    const { name: adapter, software } = this.adapter
    const { limit } = this.#budget
    return {
      server: {
        version: VERSION,
        uptimeSeconds: Math.floor((performance.now() - this.#openedAt) / 1000),
        adapter: { name: adapter, software },
        deviceBytes: paged.reduce((sum, { deviceBytes }) => sum + deviceBytes, 0),
        ...(Number.isFinite(limit) ? { deviceLimitBytes: limit } : {}),
        pagedOutIndexes: all.filter(({ resident }) => !resident).length,
        pagedOutRelations: relations.filter(({ resident }) => !resident).length,
        pagedOutBytes: paged.reduce((sum, { hostBytes }) => sum + hostBytes, 0),
        storeBytes: this.#store.bytes,
        cachedPayloadBytes: this.#store.payloads.cachedBytes,
        queries: this.queries.figures,
        ...(this.#backup === undefined ? {} : { backup: this.#backup }),
      },
      indexes: name === undefined ? all : [this.index(name).stats()],
      relations: name === undefined ? relations : [],
    }
  }

  /** All figures of the indexes that take the most memory, on device and host, the largest first. */
  largest(count: number): readonly (IndexStats & PagedStats)[] {
    return this.#indexes.largest(count)
  }

  /** Takes a snapshot of one index, or of all indexes and relations; see `snapshots`. */
  async snapshot(name?: string): Promise<readonly SnapshotInfo[]> {
    return name === undefined ? this.snapshots() : [await this.index(name).snapshot()]
  }

  /**
   * Takes a snapshot of each index and relation with everything that was written before, but of what is dropped meanwhile.
   * @param wanted which of them, by name; all without it
   */
  async snapshots(wanted: (name: string) => boolean = () => true): Promise<readonly SnapshotInfo[]> {
    const stored = this.#indexes.all().filter(({ exists, isDerived }) => exists && !isDerived)
    const all = [...stored, ...this.#relations.existing()]
    return takeSnapshots(all.filter(({ definition }) => wanted(definition.name)))
  }

  /** Names of the indexes that a close still waits for. */
  get unclosed(): readonly string[] {
    return [...this.#unclosed]
  }

  /**
   * Makes a backup of all indexes while requests go on.
   *
   * @param name of the folder to make within the folder of backups; by default it tells the time
   * @throws WarpdexError `BAD_REQUEST` where no backups are made, or the name does not do; else what `Store.backUp` throws
   */
  async backUp(name?: string): Promise<BackupInfo> {
    this.#refuse()
    const path = backupPath(this.#options.backupDirectory, name)
    try {
      const { bytes, manifest } = await this.#store.backUp(path, (progress) => {
        this.#backup = { path, ...progress }
      })
      const { indexes, relations = [] } = manifest
      return { path, bytes, indexes: indexes.length, relations: relations.length }
    } finally {
      this.#backup = undefined
    }
  }

  /**
   * What the device's costs were measured to be, those of traversals only where an index has strategies to choose from.
   * @param again measures anew what there is, and selections in any case; takes seconds
   */
  async calibration(again = false): Promise<ReplyFields['calibrate']> {
    this.#refuse()
    return this.#calibrations.report(await this.#device.current, again)
  }

  /** Refuses new requests, answers those that run, and gives everything back. May be called more than once. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const calibrated = this.#calibrations.selections.close()
    // A result that nobody reads on would hold its relations.
    this.queries.close()
    const close = (each: Index | Relation) => {
      const { name } = each.definition
      this.#unclosed.add(name)
      return each.close().finally(() => this.#unclosed.delete(name))
    }
    const closings = this.#relations.all().map(close)
    // What is still appended to a relation goes to its indexes too.
    const first = Promise.allSettled(closings)
    for (const index of this.#indexes.all())
      closings.push(index.isDerived ? first.then(() => close(index)) : close(index))
    closings.push(calibrated, this.#relations.kept.close())
    await Promise.allSettled([...closings, ...this.#indexes.drops(), ...this.#relations.drops()])
    await this.#store.close()
    const device = await this.#device.current.catch(() => undefined)
    device?.destroy()
  }

  async #load(): Promise<void> {
    await this.#calibrations.selections.load(await this.#device.current)
    for (const stored of this.#store.relations()) {
      this.#options.stop?.throwIfAborted()
      await this.#relations.open(stored)
    }
    for (const stored of this.#store.indexes()) {
      this.#options.stop?.throwIfAborted()
      await this.#indexes.open(stored)
    }
  }

  #deviceHost(open: () => Promise<Device>): LiveDeviceHost {
    return {
      open,
      prepare: (device) => this.#calibrations.selections.load(device),
      isClosing: () => this.#closing !== undefined,
      onLoss: (message) => {
        this.#options.meter?.happened('deviceLoss')
        this.#options.onWarning?.(`${message}; all indexes are rebuilt on a new one`)
      },
      move: () => {
        this.#relations.kept.lose()
        // Every rebuild reports a failure itself.
        const own = this.#indexes.all().filter(({ isDerived }) => !isDerived)
        return Promise.all([...own, ...this.#relations.all()].map((each) => each.rebuild()))
      },
    }
  }

  #queryHost(): QueryHost {
    return {
      columnsOf: (relation) => this.readableRelation(relation).definition.columns,
      useRelations: (names, run, reader) => this.useRelations(names, run, reader),
      device: () => this.#device.current,
      results: this.#relations.kept,
      onLargeSelection: (device) => this.#calibrations.selections.want(device),
    }
  }

  #refuse(): void {
    if (this.#closing === undefined) return
    throw new WarpdexError('SHUTTING_DOWN', 'the server is shutting down; try again when it is back')
  }
}
