import { type AdapterFacts, Device } from '../../gpu/device/device.js'
import type { PageRun } from '../../gpu/memory/page-run.js'
import { calibrateSelections } from '../../gpu/relational/selection/calibrate.js'
import { Store } from '../../persistence/store.js'
import { LIMITS } from '../../protocol/limits.js'
import type { QueryTable } from '../../protocol/query/query-tables.js'
import type { RelationDefinition } from '../../protocol/relation.js'
import type {
  BackupInfo,
  BackupProgress,
  IndexStats,
  ReplyFields,
  SnapshotInfo,
} from '../../protocol/replies.js'
import type { SqlStatement } from '../../protocol/sql.js'
import { checkChange, type RowChange } from '../query/changed-rows.js'
import { Queries } from '../query/queries.js'
import type { QueryHost, QueryReader } from '../query/query-host.js'
import { queryMemoryLimits } from '../query/query-memory.js'
import { catalogueOf } from '../sql/catalogue.js'
import { type SqlQuery, Statements } from '../sql/statements.js'
import { VERSION } from '../version.js'
import { backupPath } from './backup-path.js'
import { SELECTION_COSTS, TRAVERSAL_COSTS } from './calibration.js'
import { Calibrator } from './calibrator.js'
import { Catalog } from './catalog.js'
import { SYSTEM_CLOCK } from './clock.js'
import { DeviceBudget } from './device-budget.js'
import type { EngineOptions } from './engine-options.js'
import type { EngineStats } from './engine-stats.js'
import { FairTurns } from './fair-turns.js'
import { FeedWaits } from './feed-waits.js'
import type { WriteId } from './index-requests.js'
import { LiveDevice, type LiveDeviceHost } from './live-device.js'
import type { Index } from './named-index.js'
import type { Relation } from './named-relation.js'
import type { PagedStats } from './paged-structure.js'
import { mostVersionBytes, ReadVersions, type VersionId } from './read-versions.js'
import { Registry } from './registry.js'
import { Replica } from './replica.js'
import type { ChangedRows, FindRows } from './row-changes.js'
import type { SlabMap } from './slab-map.js'
import { prefixTrees } from './structures.js'

const SNAPSHOT_LOG_BYTES = 256 * 2 ** 20

/** All indexes and relations of one data directory on one device. */
export class Engine extends Catalog {
  readonly #options: EngineOptions
  /** Measured once a selection is large enough to gain by it; until then they are planned with default costs. */
  readonly #selectionCosts: Calibrator<'selectionCosts'>
  /** Queries over the relations. */
  readonly queries: Queries
  /** Its part in a replica set. */
  readonly replica: Replica
  readonly #statements = new Statements()
  readonly #openedAt = performance.now()
  readonly #device: LiveDevice
  /** Indexes and relations that a close waits for. */
  readonly #unclosed = new Set<string>()
  #backup: BackupProgress | undefined

  private constructor(
    store: Store,
    device: Device,
    openDevice: () => Promise<Device>,
    options: EngineOptions,
  ) {
    const { structures = prefixTrees, meter } = options
    const { onProgress = () => {}, onWarning = () => {} } = options
    const clock = options.clock ?? SYSTEM_CLOCK
    const feeds = new FeedWaits(clock)
    store.log.onGrowth = (index) => feeds.wake(index)
    super({
      store,
      budget: new DeviceBudget(options.deviceMemory ?? Number.POSITIVE_INFINITY),
      structures,
      // Beside the first index on a device that has some to choose from.
      calibrator: new Calibrator(TRAVERSAL_COSTS, options, async (device, stop) =>
        structures.calibrate?.(device, stop),
      ),
      turns: new FairTurns(LIMITS.readsUnderWay),
      versions: new ReadVersions(clock, mostVersionBytes(device.facts.software)),
      indexes: new Registry<Index>(),
      snapshotLogBytes: options.snapshotLogBytes ?? SNAPSHOT_LOG_BYTES,
      feedBytes: options.feedBytes ?? 0,
      feeds,
      device: () => this.#device.current,
      clock,
      onProgress,
      onWarning,
      stop: options.stop,
      meter,
    })
    this.#options = options
    const { measureSelections = calibrateSelections } = options
    this.#selectionCosts = new Calibrator(SELECTION_COSTS, options, measureSelections)
    this.queries = new Queries(
      this.#queryHost(),
      queryMemoryLimits(options.queryMemory, options.queryMemoryInAll, device.facts.software),
    )
    this.replica = new Replica({
      store,
      indexes: this.host.indexes,
      relations: this.stored,
      openIndex: (stored) => this.openIndex(stored),
      openRelation: (stored) => this.openRelation(stored),
    })
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
      device.keepReserve()
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
    return this.closing === undefined ? this.#device.interruption : 'the server is shutting down'
  }

  /**
   * Opens a read version; what has expired by now belongs to it no more.
   * @throws WarpdexError `OVERLOADED`
   */
  openVersion(id: VersionId, seconds: number): void {
    for (const index of this.host.indexes.all()) index.expiry?.beforeVersion()
    this.versions.open(id, seconds)
  }

  /**
   * Deletes rows of a relation, or updates them: then others come in their place, at its end.
   *
   * @param id as of `Relation.append`
   * @throws WarpdexError `UNKNOWN_RELATION`, `BAD_REQUEST` with the way to the fault, `TOO_LARGE` for an update of too many rows
   */
  changeRows(name: string, change: RowChange, reader: QueryReader, id?: WriteId): Promise<ChangedRows> {
    const relation = this.relation(name)
    // What is wrong with it is said before anything waits for it.
    checkChange(change, relation.definition, [])
    const find: FindRows = (held, old) =>
      this.queries.rowsToChange(relation.definition, held, change, reader, old)
    return relation.change(find, id, reader)
  }

  /** Moments that clients go on reading. */
  get versions(): ReadVersions {
    return this.host.versions
  }

  /** What the engine computes on. */
  get adapter(): AdapterFacts {
    return this.#device.adapter
  }

  /** Figures of the server, and of one index, or all indexes and relations; those of all indexes are without their regions, since there may be thousands. */
  stats(name?: string): EngineStats {
    const all = this.#loaded().map((index) => {
      const { regions: _regions, ...figures } = index.stats()
      return figures
    })
    const loaded = this.stored.all().filter(({ isLoaded }) => isLoaded)
    const relations = [...loaded, ...this.kept.all()].map((relation) => relation.stats())
    const paged = [...all, ...relations]
    const { store, budget } = this.host
    const { slabs, hostCopies } = this.#device
    const { name: adapter, software } = this.adapter
    const { limit } = budget
    return {
      server: {
        version: VERSION,
        uptimeSeconds: Math.floor((performance.now() - this.#openedAt) / 1000),
        adapter: { name: adapter, software },
        deviceBytes: paged.reduce((sum, { deviceBytes }) => sum + deviceBytes, 0),
        slabs,
        ...(Number.isFinite(limit) ? { deviceLimitBytes: limit } : {}),
        pagedOutIndexes: all.filter(({ resident }) => !resident).length,
        pagedOutRelations: relations.filter(({ resident }) => !resident).length,
        pagedOutBytes: paged.reduce((sum, { hostBytes }) => sum + hostBytes, 0),
        hostCopyBytes: hostCopies.bytes,
        pageOutBytes: hostCopies.readBytes,
        storeBytes: store.bytes,
        cachedPayloadBytes: store.payloads.cachedBytes,
        queries: this.queries.figures,
        versions: this.host.versions.figures,
        feeds: { waiting: this.host.feeds.count, logBytes: store.log.retainedBytes },
        ...(this.replica.figures && { replica: this.replica.figures() }),
        ...(this.replica.cluster && { cluster: this.replica.cluster() }),
        ...(this.#backup === undefined ? {} : { backup: this.#backup }),
      },
      indexes: name === undefined ? all : [this.index(name).stats()],
      relations: name === undefined ? relations : [],
    }
  }

  /** All figures of the indexes that take the most memory, on device and host, the largest first. */
  largest(count: number): readonly (IndexStats & PagedStats)[] {
    return this.#loaded()
      .map((index) => ({ index, bytes: index.bytes }))
      .sort((one, other) => other.bytes - one.bytes)
      .slice(0, count)
      .map(({ index }) => index.stats())
  }

  /**
   * What lies where in the slabs of device memory.
   * @param indexes and relations by name whose pages are told apart
   */
  slabMaps(indexes: readonly string[], relations: readonly string[]): readonly SlabMap[] {
    const found = (label: string, runs: readonly PageRun[] | undefined) => ({ label, runs: runs ?? [] })
    return this.#device.slabMaps([
      ...indexes.map((name) => found(`index ${name}`, this.host.indexes.get(name)?.runs)),
      ...relations.map((name) =>
        found(`relation ${name}`, (this.stored.get(name) ?? this.kept.get(name))?.runs),
      ),
    ])
  }

  #loaded(): readonly Index[] {
    return this.host.indexes.all().filter(({ isLoaded }) => isLoaded)
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
    const own = this.host.indexes.existing().filter(({ isDerived }) => !isDerived)
    const taken: SnapshotInfo[] = []
    for (const each of [...own, ...this.stored.existing()]) {
      try {
        if (wanted(each.definition.name)) taken.push(await each.snapshot())
      } catch (error) {
        if (!each.isDropped) throw error
      }
    }
    return taken
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
    this.refuse()
    const path = backupPath(this.#options.backupDirectory, name)
    try {
      const { bytes, manifest } = await this.host.store.backUp(path, (progress) => {
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
    this.refuse()
    const device = await this.#device.current
    if (again) {
      if (device.traversalCosts !== undefined) await this.host.calibrator.measure(device)
      await this.#selectionCosts.measure(device)
    }
    const { facts, traversalCosts: traversals, selectionCosts: selections } = device
    const { name, driver, software } = facts
    return {
      adapter: { name, driver, software },
      ...(traversals === undefined ? {} : { traversals }),
      ...(selections === undefined ? {} : { selections }),
    }
  }

  /**
   * The query that a statement in SQL comes to.
   * @param mayRead whether it may name a relation; it is told of no others
   * @param tables that come with it
   * @throws WarpdexError `BAD_REQUEST` with the place of what is wrong in the text, or with the name of what the device does not do; `OVERLOADED`
   */
  async planSql(
    statement: SqlStatement,
    mayRead: (relation: string) => boolean,
    tables: readonly QueryTable[] = [],
  ): Promise<SqlQuery> {
    const own = new Map(tables.map((table) => [table.definition.name, table]))
    const readable = this.relations().filter(({ name }) => !own.has(name) && mayRead(name))
    const rowsOf = ({ name }: RelationDefinition) => {
      const table = own.get(name)
      return (
        table?.appends.reduce((sum, { rows }) => sum + rows, 0) ?? this.readableRelation(name).stats().rows
      )
    }
    const named = [...tables.map(({ definition }) => definition), ...readable]
    return this.#statements.queryOf(statement, catalogueOf(statement.text, named, rowsOf))
  }

  /** Refuses new requests, answers those that run, and gives everything back. May be called more than once. */
  close(): Promise<void> {
    this.closing ??= this.#close()
    return this.closing
  }

  async #close(): Promise<void> {
    const calibrated = [this.#selectionCosts.close(), this.host.calibrator.close()]
    // A result that nobody reads on would hold its relations.
    this.queries.close()
    this.#statements.close()
    this.host.feeds.end()
    const close = (each: Index | Relation) => {
      const { name } = each.definition
      this.#unclosed.add(name)
      return each.close().finally(() => this.#unclosed.delete(name))
    }
    const { indexes, store } = this.host
    const closings = [this.host.versions.end(), ...this.stored.all().map(close)]
    // What is still appended to a relation goes to its indexes too.
    const first = Promise.allSettled(closings)
    for (const index of indexes.all())
      closings.push(index.isDerived ? first.then(() => close(index)) : close(index))
    closings.push(...calibrated, this.kept.close())
    await Promise.allSettled([...closings, ...indexes.drops(), ...this.stored.drops()])
    await store.close()
    const device = await this.#device.current.catch(() => undefined)
    device?.destroy()
  }

  async #load(): Promise<void> {
    await this.#prepare(await this.#device.current)
    const { store } = this.host
    for (const stored of store.relations()) {
      this.#options.stop?.throwIfAborted()
      await this.openRelation(stored)
    }
    for (const stored of store.indexes()) {
      this.#options.stop?.throwIfAborted()
      await this.openIndex(stored)
    }
  }

  async #prepare(device: Device): Promise<void> {
    await this.#selectionCosts.load(device)
  }

  #deviceHost(open: () => Promise<Device>): LiveDeviceHost {
    return {
      open,
      prepare: (device) => this.#prepare(device),
      isClosing: () => this.closing !== undefined,
      onLoss: (message) => {
        this.#options.meter?.happened('deviceLoss')
        this.#options.onWarning?.(`${message}; all indexes are rebuilt on a new one`)
      },
      move: () => {
        this.kept.lose()
        void this.host.versions.end()
        // Every rebuild reports a failure itself.
        const own = this.host.indexes.all().filter(({ isDerived }) => !isDerived)
        return Promise.all([...own, ...this.stored.all()].map((each) => each.rebuild()))
      },
    }
  }

  #queryHost(): QueryHost {
    return {
      columnsOf: (relation) => this.readableRelation(relation).definition.columns,
      useRelations: (names, run, reader) => this.useRelations(names, run, reader),
      device: () => this.#device.current,
      results: this.kept,
      onLargeSelection: (device) => void this.#selectionCosts.provide(device),
    }
  }
}
