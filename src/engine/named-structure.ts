import type { Device } from '../../gpu/device/device.js'
import type { PageRun } from '../../gpu/memory/page-run.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import type { SnapshotFigures } from '../../protocol/replies.js'
import type { EngineHost } from './engine-host.js'
import { rebuilding } from './index-errors.js'
import type { Reader } from './index-requests.js'
import type { Loaded } from './loader.js'
import type { DeviceStructure, PagedStructure } from './paged-structure.js'
import { type Followers, RequestQueue, requireWanted } from './request-queue.js'
import type { SnapshotUpkeep, SnapshotUpkeepOptions } from './snapshot-upkeep.js'

/** What an index or a relation has from its creation on, whatever becomes of the device. */
export interface StructureParts {
  readonly stored: { readonly id: number }
  readonly upkeep: SnapshotUpkeep
}

/** What a log has: the position of its last record and how many there are, and the position that the newest snapshot has. */
export interface LogFigures {
  readonly logPosition: number
  readonly logRecords: number
  readonly snapshotPosition: number
}

/** How a queue takes writes together; see `RequestQueue`. */
export interface WriteKinds<Write> {
  readonly weigh: (write: Write) => number
  readonly kindOf?: (write: Write) => unknown
}

/**
 * What has a name, an order of requests, a log, and a structure on the device, which is there from its creation or its loading to its
 * drop or the end, but for a rebuild after the loss of a device.
 */
export abstract class NamedStructure<
  Definition extends { readonly name: string },
  Parts extends StructureParts,
  S extends DeviceStructure,
  Write extends { readonly reject: (error: WarpdexError) => void },
> {
  #definition: Definition
  protected readonly host: EngineHost
  readonly #kind: 'index' | 'relation'
  protected readonly queue: RequestQueue<Write>
  #parts: Parts | undefined
  #exists = false
  #isDropped = false
  /** Undefined while there is no structure: before the creation, during a rebuild, and in the end. */
  #loaded: (Parts & { readonly structure: PagedStructure<S> }) | undefined
  /** Why new requests are refused for good. */
  #refusal: WarpdexError | undefined
  /** Why the structure could not be rebuilt. */
  #failure: WarpdexError | undefined

  protected constructor(
    definition: Definition,
    host: EngineHost,
    kind: 'index' | 'relation',
    writes: WriteKinds<Write>,
  ) {
    this.#definition = definition
    this.host = host
    this.#kind = kind
    this.queue = new RequestQueue(
      (batch, followers) => this.#runWrites(batch, followers),
      writes.weigh,
      writes.kindOf,
      (milliseconds) => host.meter?.waited(milliseconds),
    )
  }

  /** Enters it into the store, once `make` has made what else there is of it. */
  protected abstract enterStore(make: (stored: Parts['stored']) => Promise<void>): Promise<unknown>
  /** Removes it from the store, and whatever else goes with it. */
  protected abstract leaveStore(id: number): Promise<void>
  protected abstract makeParts(stored: Parts['stored']): Parts
  /** Brings what is stored to a device. */
  protected abstract loadOn(device: Device, id: number): Promise<Loaded<PagedStructure<S>>>
  /** Answers writes in their turn. @returns whether the structure holds what the log holds; if not, it is rebuilt */
  protected abstract runWrites(
    loaded: Parts & { readonly structure: PagedStructure<S> },
    writes: readonly Write[],
    followers: Followers<Write>,
  ): Promise<boolean>
  /** The error for whoever asks for it when it is not there. */
  protected abstract unknown(): WarpdexError

  /** What it was created as, under the name that it has. */
  get definition(): Definition {
    return this.#definition
  }

  /** Its id, once it is there. */
  get id(): number | undefined {
    return this.#parts?.stored.id
  }

  /** Whether it is there, as opposed to being created. It is there while it is rebuilt. */
  get exists(): boolean {
    return this.#exists
  }

  /** Whether it is being dropped, or is no more. */
  get isDropped(): boolean {
    return this.#isDropped
  }

  /** Whether it can be used. It may be paged out. */
  get isLoaded(): boolean {
    return this.#loaded !== undefined
  }

  /** Bytes of memory that it takes, on the device or on the host; 0 while it is not loaded. */
  get bytes(): number {
    if (this.#loaded === undefined) return 0
    const { deviceBytes, hostBytes } = this.#loaded.structure.stats()
    return deviceBytes + hostBytes
  }

  /** The pages of device memory that it has. */
  get runs(): readonly PageRun[] {
    return this.#loaded?.structure.runs ?? []
  }

  /** Resolves when everything before the call is done; rejects when it did not come to be. */
  ready(): Promise<void> {
    return this.queue.read(async () => void this.live())
  }

  /** Brings it from the store to the device. Requests may be made at once; they wait. */
  open(stored: Parts['stored']): Promise<void> {
    return this.#start(() => this.#load(stored))
  }

  /**
   * Creates it. Requests may be made at once; they wait.
   * @param after what must be done before, if anything
   */
  create(after: Promise<void> | undefined): Promise<void> {
    return this.#start(async () => {
      await after
      try {
        await this.enterStore((stored) => this.#load(stored))
      } catch (error) {
        await this.#unload()
        this.#parts = undefined
        throw error
      }
    })
  }

  /** Brings it to another device, unless it is on none. Requests that are running fail, those made after the call wait. */
  rebuild(): Promise<void> {
    return this.queue.exclusive(() => this.rebuildInTurn())
  }

  /** As `rebuild`, wherever it is. */
  remake(): Promise<void> {
    return this.queue.exclusive(() => this.recover())
  }

  protected async rebuildInTurn(): Promise<void> {
    if (this.#parts === undefined || this.#loaded?.structure.isOnHost === true) return
    await this.#reload(this.#parts)
  }

  /** Builds the structure anew, in its turn. */
  protected async recover(): Promise<void> {
    if (this.#parts !== undefined) await this.#reload(this.#parts)
  }

  /**
   * Answers what came before, then removes it for good. If the store cannot do that, it stays.
   * @param leave removes it from the store, where others leave with it
   */
  drop(leave = (id: number) => this.leaveStore(id)): Promise<void> {
    const before = this.#refusal
    this.#refusal = this.unknown()
    this.#isDropped = true
    return this.queue.exclusive(async () => {
      if (this.#parts === undefined) return
      const { stored, upkeep } = this.#parts
      await upkeep.stop()
      try {
        await leave(stored.id)
      } catch (error) {
        this.#refusal = before
        this.#isDropped = false
        // The device may have been lost meanwhile, and nobody else would have it rebuilt.
        await this.recover()
        throw error
      }
      await this.#unload()
    })
  }

  /** Answers what came before, takes a snapshot if that is worthwhile, and gives the device memory back. */
  async close(): Promise<void> {
    this.#refusal ??= new WarpdexError(
      'SHUTTING_DOWN',
      'the server is shutting down; try again when it is back',
    )
    await this.queue.exclusive(async () => {})
    await this.#parts?.upkeep.end(this.#loaded !== undefined)
    await this.queue.exclusive(() => this.#unload())
  }

  /** Takes a snapshot of all that was written before the call. */
  protected async takeSnapshot(): Promise<SnapshotFigures> {
    this.refuse()
    await this.ready()
    const { position, bytes } = await this.live().upkeep.takeSnapshot()
    return { position, bytes }
  }

  /** Takes its turn, as a read or with nothing beside it, and keeps it until it is released. Takes its place before it returns. */
  protected holdTurn(
    kind: 'read' | 'exclusive',
    reader?: Reader,
  ): Promise<Parts & { readonly structure: PagedStructure<S>; release(): void }> {
    return new Promise((resolve, reject) => {
      const held = async () => {
        requireWanted(reader)
        const loaded = this.live()
        await new Promise<void>((release) => resolve({ ...loaded, release }))
      }
      this.queue[kind](held).catch(reject)
    })
  }

  /** Takes another definition, in its turn. */
  protected redefine(definition: Definition): void {
    this.#definition = definition
  }

  /** What its log has, and what its snapshots have of that. */
  protected logFigures(): LogFigures {
    const { stored, upkeep } = this.live()
    const { log } = this.host.store
    const logPosition = log.last(stored.id)
    const logRecords = logPosition + 1 - log.first(stored.id)
    return { logPosition, logRecords, snapshotPosition: upkeep.newest?.position ?? 0 }
  }

  /** What there is, for a request in its turn. */
  protected live(): Parts & { readonly structure: PagedStructure<S> } {
    if (this.#loaded !== undefined) return this.#loaded
    throw this.#absence()
  }

  /** Throws for a new request that is refused. */
  protected refuse(): void {
    if (this.#refusal !== undefined) throw this.#refusal
  }

  /** What upkeep is to know of it. */
  protected upkeepOptions(id: number): SnapshotUpkeepOptions<PagedStructure<S>> {
    const { store, snapshotLogBytes, meter } = this.host
    return {
      store,
      id,
      snapshotLogBytes,
      inTurn: (task) => this.queue.read(async () => task(this.live().structure)),
      isGoing: () => this.#refusal !== undefined,
      warn: (what, thrown) => this.#warn(what, thrown),
      happened: (event) => meter?.happened(event),
    }
  }

  #warn(what: string, thrown: unknown): void {
    const { name } = this.definition
    this.host.onWarning(`${this.#kind} ${JSON.stringify(name)} ${what}: ${toWarpdexError(thrown).message}`)
  }

  /** Builds the structure anew from what is stored. If that fails it answers nothing. */
  async #reload(parts: Parts): Promise<void> {
    await this.#unload()
    try {
      this.#loaded = { ...parts, structure: await this.#build(parts) }
    } catch (thrown) {
      const { code, message } = toWarpdexError(thrown)
      this.#warn('could not be rebuilt', thrown)
      const failure = `the ${this.#kind} could not be rebuilt: ${message}; restart the server`
      // What this user may not read on disk is no fault of a client's request.
      this.#failure = new WarpdexError(code === 'BAD_REQUEST' ? 'INTERNAL' : code, failure)
    }
  }

  #start(load: () => Promise<void>): Promise<void> {
    return this.queue.exclusive(async () => {
      try {
        await load()
        this.#exists = true
      } catch (error) {
        this.#refusal = toWarpdexError(error)
        throw error
      }
    })
  }

  async #load(stored: Parts['stored']): Promise<void> {
    const parts = this.makeParts(stored)
    const structure = await this.#build(parts)
    this.#parts = parts
    this.#loaded = { ...parts, structure }
  }

  async #build({ stored, upkeep }: Parts): Promise<PagedStructure<S>> {
    const { budget } = this.host
    const device = await this.host.device()
    const { structure, replayedBytes } = await budget.withRoom(() => this.loadOn(device, stored.id))
    await budget.settle(structure)
    upkeep.loaded(replayedBytes)
    return structure
  }

  /** Called with nothing else of it running. */
  async #unload(): Promise<void> {
    const loaded = this.#loaded
    this.#loaded = undefined
    this.#failure = undefined
    await loaded?.upkeep.stop()
    await loaded?.structure.destroy()
  }

  async #runWrites(writes: readonly Write[], followers: Followers<Write>): Promise<void> {
    const loaded = this.#loaded
    if (loaded === undefined) {
      for (const { reject } of writes) reject(this.#absence())
      return
    }
    try {
      const sound = await this.runWrites(loaded, writes, followers)
      if (!sound) await this.recover()
    } catch (thrown) {
      // Every write is answered by whoever runs it, so it did not come to that: the structure was not to be had.
      for (const { reject } of writes) reject(toWarpdexError(thrown))
    }
  }

  /** Why there is no structure. */
  #absence(): WarpdexError {
    if (this.#parts === undefined) return this.#refusal ?? this.unknown()
    return this.#failure ?? this.#refusal ?? rebuilding(this.#kind, this.definition.name)
  }
}

/** What is held until it is released, once all of it is; where any of it fails nothing is. */
export async function allHeld<H extends { release(): void }>(
  holds: readonly Promise<H>[],
): Promise<readonly H[]> {
  const settled = await Promise.allSettled(holds)
  const held = settled.flatMap((hold) => (hold.status === 'fulfilled' ? [hold.value] : []))
  const failed = settled.find((hold) => hold.status === 'rejected')
  if (failed === undefined) return held
  for (const { release } of held) release()
  throw failed.reason
}
