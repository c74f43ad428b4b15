import type { AdapterChoice } from '../../gpu/device/adapter.js'
import { type AdapterFacts, Device } from '../../gpu/device/device.js'
import { Store } from '../../persistence/store.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { BackupInfo, BackupProgress, IndexStats, SnapshotInfo } from '../../protocol/messages.js'
import { checkLayout, parseLayout, sameLayout } from '../../protocol/traversal-options.js'
import type { IndexDefinition } from '../../protocol/types.js'
import type { EngineMeter } from '../observe/meter.js'
import { VERSION } from '../version.js'
import { backupPath } from './backup-path.js'
import { Calibrator } from './calibrator.js'
import { DeviceBudget } from './device-budget.js'
import { FairTurns } from './fair-turns.js'
import { indexExists, notLoaded, unknownIndex } from './index-errors.js'
import type { ReplayProgress } from './index-loader.js'
import { IndexNames } from './index-names.js'
import { meteredStructures } from './metered-structures.js'
import { Index } from './named-index.js'
import type { PagedStats } from './paged-structure.js'
import { settleStructure } from './structure-choice.js'
import { prefixTrees, type StructureFactory } from './structures.js'

export interface EngineOptions {
  /** Folder that holds all data; made where it is missing. */
  readonly directory: string
  readonly adapter?: AdapterChoice | undefined
  /** Bytes of write log of an index after which a snapshot of it is taken. */
  readonly snapshotLogBytes?: number | undefined
  /** Bytes of payloads of kind `bytes` to keep in memory. */
  readonly payloadCacheBytes?: number | undefined
  /** Bytes of device memory that indexes may take; those that do not fit wait in host memory. Unlimited by default. */
  readonly deviceMemory?: number | undefined
  /** Measures the costs of the traversal strategies anew, even if they are on disk. */
  readonly recalibrate?: boolean | undefined
  /** Folder that backups are made in; without it none are made. */
  readonly backupDirectory?: string | undefined
  readonly structures?: StructureFactory | undefined
  /** Opens a device, at first and after a loss; by default the adapter's. */
  readonly openDevice?: (() => Promise<Device>) | undefined
  /** Told of long work at the start. */
  readonly onProgress?: ((progress: ReplayProgress) => void) | undefined
  /** Gives up the opening, with the signal's reason, once it is aborted. */
  readonly stop?: AbortSignal | undefined
  /** Told of what went wrong without a request to answer. */
  readonly onWarning?: ((message: string) => void) | undefined
  /** Told of work and how long it took. */
  readonly meter?: EngineMeter | undefined
}

export interface ServerStats {
  readonly version: string
  readonly uptimeSeconds: number
  readonly adapter: { readonly name: string; readonly software: boolean }
  /** Bytes of device memory that indexes own. */
  readonly deviceBytes: number
  /** Bytes of device memory that they may own; absent when nobody has limited it. */
  readonly deviceLimitBytes?: number
  /** Indexes that are paged out, and bytes of host memory that they take. */
  readonly pagedOutIndexes: number
  readonly pagedOutBytes: number
  /** Bytes of the store on disk. */
  readonly storeBytes: number
  /** Bytes of payloads of kind `bytes` in memory. */
  readonly cachedPayloadBytes: number
  /** How far the backup is that is being made, in bytes. */
  readonly backup?: BackupProgress
}

export interface EngineStats {
  readonly server: ServerStats & Readonly<Record<string, unknown>>
  readonly indexes: readonly IndexStats[]
}

const SNAPSHOT_LOG_BYTES = 256 * 2 ** 20

/** All indexes of one data directory on one device. */
export class Engine {
  readonly #store: Store
  readonly #options: EngineOptions
  readonly #openDevice: () => Promise<Device>
  readonly #budget: DeviceBudget
  readonly #names: IndexNames
  readonly #structures: StructureFactory
  readonly #calibrator: Calibrator
  readonly #turns = new FairTurns(LIMITS.readsUnderWay)
  readonly #indexes = new Map<string, Index>()
  /** Drops that are under way, by name. */
  readonly #drops = new Map<string, Promise<void>>()
  readonly #openedAt = performance.now()
  #device: Promise<Device>
  #adapter: AdapterFacts
  #closing: Promise<void> | undefined
  /** Indexes that a close waits for. */
  readonly #unclosed = new Set<string>()
  /** Why no index answers; undefined while they do. */
  #interruption: string | undefined
  #backup: BackupProgress | undefined

  private constructor(
    store: Store,
    device: Device,
    openDevice: () => Promise<Device>,
    options: EngineOptions,
  ) {
    this.#store = store
    this.#options = options
    this.#openDevice = openDevice
    this.#budget = new DeviceBudget(options.deviceMemory ?? Number.POSITIVE_INFINITY)
    this.#names = new IndexNames(device)
    const { structures = prefixTrees, meter } = options
    this.#structures = meter === undefined ? structures : meteredStructures(structures, meter)
    this.#calibrator = new Calibrator({
      directory: options.directory,
      structures: this.#structures,
      recalibrate: options.recalibrate ?? false,
      onWarning: (message) => options.onWarning?.(message),
    })
    this.#device = Promise.resolve(device)
    this.#adapter = device.facts
    this.#watch(device)
  }

  /**
   * Opens the store and the device and brings all indexes to it.
   * @throws WarpdexError `NO_ADAPTER`, `DAMAGED_FILE`, `OUT_OF_DEVICE_MEMORY`, or `BAD_REQUEST` when another process has the
   * directory open
   */
  static async open(options: EngineOptions): Promise<Engine> {
    const { directory, adapter, payloadCacheBytes, deviceMemory = Number.POSITIVE_INFINITY } = options
    const openDevice = async () => {
      const device = await (options.openDevice ?? (() => Device.open(adapter)))()
      device.structureBytes = deviceMemory
      return device
    }
    const store = await Store.open(directory, payloadCacheBytes === undefined ? {} : { payloadCacheBytes })
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
    return this.#closing === undefined ? this.#interruption : 'the server is shutting down'
  }

  /** What the engine computes on. */
  get adapter(): AdapterFacts {
    return this.#adapter
  }

  /**
   * Creates an index. Requests to it may be made at once; they wait.
   * @returns false if `ifNotExists` is set and there is such an index already
   * @throws WarpdexError `INDEX_EXISTS`, `TOO_LARGE`, `BAD_REQUEST` for a layout that is none, or not for such keys
   */
  async createIndex(given: IndexDefinition, options: { ifNotExists?: boolean } = {}): Promise<boolean> {
    this.#refuse()
    const { name, keyType, payloadKind, unique } = given
    const layout = parseLayout(given)
    checkLayout(layout, keyType)
    const existing = this.#indexes.get(name)
    const form = settleStructure(layout, existing?.definition)
    const definition = { name, keyType, payloadKind, unique, ...form }
    if (existing !== undefined) {
      if (options.ifNotExists !== true || !sameDefinition(existing.definition, definition)) {
        throw indexExists(existing.definition)
      }
      await existing.ready()
      return false
    }
    const index = this.#register(definition)
    try {
      await index.create(this.#drops.get(name))
    } catch (error) {
      if (this.#indexes.get(name) === index) this.#indexes.delete(name)
      throw error
    }
    return true
  }

  /**
   * Removes an index with all its data.
   * @returns false if `ifExists` is set and there is no such index
   * @throws WarpdexError `UNKNOWN_INDEX`
   */
  async dropIndex(name: string, options: { ifExists?: boolean } = {}): Promise<boolean> {
    this.#refuse()
    const index = this.#indexes.get(name)
    if (index === undefined) {
      if (options.ifExists === true) return false
      throw unknownIndex(name)
    }
    this.#indexes.delete(name)
    const drop = index.drop()
    this.#drops.set(name, drop)
    try {
      await drop
    } catch (error) {
      // It is still there. Whoever creates another one of its name has waited for the drop, and fails with it.
      this.#indexes.set(name, index)
      throw error
    } finally {
      if (this.#drops.get(name) === drop) this.#drops.delete(name)
    }
    return true
  }

  list(): readonly IndexDefinition[] {
    return this.#all()
      .filter(({ exists }) => exists)
      .map(({ definition }) => definition)
  }

  /** @throws WarpdexError `UNKNOWN_INDEX`, `SHUTTING_DOWN` */
  index(name: string): Index {
    this.#refuse()
    const index = this.#indexes.get(name)
    if (index === undefined) throw unknownIndex(name)
    return index
  }

  /**
   * The id of an index, looked up by name on the device (Volk §4.1).
   * @throws WarpdexError `UNKNOWN_INDEX`, `DEVICE_LOST`, `INTERNAL` when the device has not what the engine has
   */
  async locate(name: string): Promise<number> {
    this.#refuse()
    const index = this.#indexes.get(name)
    await (index?.ready() ?? this.#drops.get(name))
    if (this.#indexes.get(name) !== index) return this.locate(name)
    const expected = index?.id
    const id = await this.#names.find(name)
    if (id !== expected) {
      throw new WarpdexError(
        'INTERNAL',
        `the dictionary on the device has ${id ?? 'no id'} for ${JSON.stringify(name)}, not ${expected ?? 'none'}; restart the server`,
      )
    }
    if (id === undefined) throw unknownIndex(name)
    return id
  }

  /** Figures of the server, and of one index or all; those of all are without their regions, since there may be thousands. */
  stats(name?: string): EngineStats {
    const all = this.#all()
      .filter(({ isLoaded }) => isLoaded)
      .map((index) => index.summary())
    const { name: adapter, software } = this.#adapter
    const { limit } = this.#budget
    return {
      server: {
        version: VERSION,
        uptimeSeconds: Math.floor((performance.now() - this.#openedAt) / 1000),
        adapter: { name: adapter, software },
        deviceBytes: all.reduce((sum, { deviceBytes }) => sum + deviceBytes, 0),
        ...(Number.isFinite(limit) ? { deviceLimitBytes: limit } : {}),
        pagedOutIndexes: all.filter(({ resident }) => !resident).length,
        pagedOutBytes: all.reduce((sum, { hostBytes }) => sum + hostBytes, 0),
        storeBytes: this.#store.bytes,
        cachedPayloadBytes: this.#store.payloads.cachedBytes,
        ...(this.#backup === undefined ? {} : { backup: this.#backup }),
      },
      indexes: name === undefined ? all : [this.index(name).stats()],
    }
  }

  /** All figures of the indexes that take the most memory, on device and host, the largest first. */
  largest(count: number): readonly (IndexStats & PagedStats)[] {
    return this.#all()
      .filter(({ isLoaded }) => isLoaded)
      .map((index) => ({ index, bytes: index.bytes }))
      .sort((one, other) => other.bytes - one.bytes)
      .slice(0, count)
      .map(({ index }) => index.stats())
  }

  /** Takes a snapshot of one index or of all, each with everything that was written before. */
  async snapshot(name?: string): Promise<readonly SnapshotInfo[]> {
    const indexes = name === undefined ? this.#all().filter(({ exists }) => exists) : [this.index(name)]
    const taken: SnapshotInfo[] = []
    for (const index of indexes) taken.push(await index.snapshot())
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
    this.#refuse()
    const path = backupPath(this.#options.backupDirectory, name)
    try {
      const { bytes, manifest } = await this.#store.backUp(path, (progress) => {
        this.#backup = { path, ...progress }
      })
      return { path, bytes, indexes: manifest.indexes.length }
    } finally {
      this.#backup = undefined
    }
  }

  /** Refuses new requests, answers those that run, and gives everything back. May be called more than once. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const closings = this.#all().map((index) => {
      const { name } = index.definition
      this.#unclosed.add(name)
      return index.close().finally(() => this.#unclosed.delete(name))
    })
    await Promise.allSettled([...closings, ...this.#drops.values()])
    await this.#store.close()
    const device = await this.#device.catch(() => undefined)
    device?.destroy()
  }

  async #load(): Promise<void> {
    for (const stored of this.#store.indexes()) {
      this.#options.stop?.throwIfAborted()
      try {
        await this.#register(stored.definition).open(stored)
      } catch (thrown) {
        throw notLoaded(stored.definition, thrown)
      }
    }
  }

  #register(definition: IndexDefinition): Index {
    const { onProgress = () => {}, onWarning = () => {} } = this.#options
    const index = new Index(definition, {
      store: this.#store,
      budget: this.#budget,
      names: this.#names,
      structures: this.#structures,
      calibrator: this.#calibrator,
      turns: this.#turns,
      snapshotLogBytes: this.#options.snapshotLogBytes ?? SNAPSHOT_LOG_BYTES,
      device: () => this.#device,
      onProgress,
      onWarning,
      stop: this.#options.stop,
      meter: this.#options.meter,
    })
    this.#indexes.set(definition.name, index)
    return index
  }

  #all(): readonly Index[] {
    return [...this.#indexes.values()]
  }

  #watch(device: Device): void {
    void device.lost.then(({ message }) => {
      if (this.#closing !== undefined) return
      this.#options.meter?.happened('deviceLoss')
      this.#options.onWarning?.(`${message}; all indexes are rebuilt on a new one`)
      this.#interruption = 'the device was lost; all indexes are rebuilt on a new one'
      const replacement = this.#replace()
      this.#device = replacement
      this.#names.move(replacement)
      // Every rebuild reports a failure itself.
      const rebuilds = this.#all().map((index) => index.rebuild())
      const replaced = replacement.then(
        () => undefined,
        (error: unknown) => toWarpdexError(error).message,
      )
      void Promise.all([replaced, ...rebuilds]).then(([failure]) => {
        device.destroy()
        // The next device may have been lost meanwhile.
        if (this.#device === replacement) this.#interruption = failure
      })
    })
  }

  async #replace(): Promise<Device> {
    try {
      const device = await this.#openDevice()
      this.#adapter = device.facts
      this.#watch(device)
      return device
    } catch (thrown) {
      const { message } = toWarpdexError(thrown)
      throw new WarpdexError('DEVICE_LOST', `the device was lost and there is no other: ${message}`)
    }
  }

  #refuse(): void {
    if (this.#closing === undefined) return
    throw new WarpdexError('SHUTTING_DOWN', 'the server is shutting down; try again when it is back')
  }
}

function sameDefinition(one: IndexDefinition, other: IndexDefinition): boolean {
  return (
    one.keyType === other.keyType &&
    one.payloadKind === other.payloadKind &&
    one.unique === other.unique &&
    sameLayout(one, other)
  )
}
