import type { Device } from '../../gpu/device/device.js'
import type { PageRun } from '../../gpu/memory/page-run.js'
import type { RelationFigures, StoredRelation } from '../../gpu/relational/stored/stored-relation.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Lifetime, RelationDefinition, RelationInfo } from '../../protocol/relation.js'
import type { Clock } from './clock.js'
import type { EngineHost, PagingHost } from './engine-host.js'
import { unknownRelation } from './index-errors.js'
import type { Reader } from './index-requests.js'
import { pagedRelation } from './loader.js'
import type { HeldRelation, RelationFacts } from './named-relation.js'
import type { PagedStructure, PlaceStats } from './paged-structure.js'
import { type ReadRows, type RowsOfColumns, readColumns } from './relation-reader.js'
import { requireWanted } from './request-queue.js'

export interface KeptResultOptions {
  readonly host: PagingHost
  readonly clock: Clock
  /** Seconds for which it stays while nobody uses it. */
  readonly seconds: number
  /** Of each relation that it was made of, whether that is another by now. */
  readonly sources: ReadonlyMap<string, () => boolean>
  /** Called once when they are over. */
  onExpiry(result: KeptResult): void
}

/**
 * The result of a query as a relation, which never changes. It lives on the device, or paged out, and nowhere else, until nobody has used it
 * for some time, or it is ended.
 */
export class KeptResult {
  readonly definition: RelationDefinition
  readonly #structure: PagedStructure<StoredRelation>
  readonly #options: KeptResultOptions
  #uses = 0
  #usedAt: number
  #stopTimer: (() => void) | undefined
  /** Why it takes no more uses. */
  #refusal: WarpdexError | undefined
  #onIdle: (() => void) | undefined

  constructor(
    definition: RelationDefinition,
    structure: PagedStructure<StoredRelation>,
    options: KeptResultOptions,
  ) {
    this.definition = definition
    this.#structure = structure
    this.#options = options
    this.#usedAt = options.clock.now()
    this.#wait(options.seconds * 1000)
  }

  /** Begins a use, before it returns, and ends it when that is released. */
  async hold(reader?: Reader): Promise<HeldRelation> {
    if (this.#refusal !== undefined) throw this.#refusal
    requireWanted(reader)
    this.#uses++
    this.#stopTimer?.()
    this.#stopTimer = undefined
    return { structure: this.#structure, release: () => this.#release() }
  }

  /** As `Relation.read`. */
  async read(request: RowsOfColumns, reader?: Reader): Promise<ReadRows> {
    const { structure, release } = await this.hold(reader)
    try {
      return await structure.use(async ({ relation }) =>
        readColumns(await this.#options.host.device(), relation, this.definition, request),
      )
    } finally {
      release()
    }
  }

  info(): RelationInfo & { readonly kept: Lifetime } {
    const { clock, seconds } = this.#options
    const idle = this.#uses > 0 ? 0 : clock.now() - this.#usedAt
    const secondsLeft = Math.max(0, Math.ceil(seconds - idle / 1000))
    return { ...this.definition, indexes: [], kept: { seconds, secondsLeft, isOlder: this.isOlder } }
  }

  /** Whether a relation that it was made of has changed since, or is no more. */
  get isOlder(): boolean {
    return [...this.sources.values()].some((hasChanged) => hasChanged())
  }

  get sources(): KeptResultOptions['sources'] {
    return this.#options.sources
  }

  /** The pages of device memory that it has. */
  get runs(): readonly PageRun[] {
    return this.#structure.runs
  }

  stats(): RelationFacts {
    const figures: RelationFigures & PlaceStats = this.#structure.stats()
    return { ...this.info(), ...figures }
  }

  /**
   * Refuses new uses, and gives the memory back when those under way are over.
   * @param refusal what new ones fail with
   */
  async end(refusal: WarpdexError): Promise<void> {
    if (this.#refusal !== undefined) return
    this.#refusal = refusal
    this.#stopTimer?.()
    if (this.#uses > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
    }
    await this.#structure.destroy()
  }

  #release(): void {
    this.#uses--
    if (this.#uses > 0) return
    this.#usedAt = this.#options.clock.now()
    if (this.#refusal === undefined) this.#wait(this.#options.seconds * 1000)
    this.#onIdle?.()
  }

  #wait(milliseconds: number): void {
    this.#stopTimer = this.#options.clock.after(milliseconds, () => this.#options.onExpiry(this))
  }
}

/** Who keeps a result. */
export interface Keeper {
  /** Refuses, by throwing, a result of that name that it may not replace. */
  authoriseReplace?(name: string): void
}

/** What kept results need of their engine. */
type KeptHost = PagingHost & Pick<EngineHost, 'clock'>

/** Results that ended by themselves, of which it is known why: so many of the last ones. */
const REMEMBERED = LIMITS.keptResults

/** The kept results of queries, by name. */
export class KeptResults {
  readonly #host: KeptHost
  readonly #refuseStored: (name: string) => void
  readonly #watch: (name: string) => () => boolean
  readonly #results = new Map<string, KeptResult>()
  /** Why results are no more, the oldest first. */
  readonly #reasons = new Map<string, string>()
  /** Results whose memory is not given back yet. */
  readonly #ending = new Set<Promise<void>>()
  #closed = false

  /**
   * @param refuseStored throws for names of relations that are stored
   * @param watch gives what tells whether the relation of a name is another by then
   */
  constructor(host: KeptHost, refuseStored: (name: string) => void, watch: (name: string) => () => boolean) {
    this.#host = host
    this.#refuseStored = refuseStored
    this.#watch = watch
  }

  get(name: string): KeptResult | undefined {
    return this.#results.get(name)
  }

  all(): readonly KeptResult[] {
    return [...this.#results.values()]
  }

  /** What a request for a name fails with that nothing has: it may have been a result's. */
  unknown(name: string): WarpdexError {
    return unknownRelation(name, this.#reasons.get(name))
  }

  /**
   * Refuses a name that no result may be kept under at the moment.
   * @throws WarpdexError `RELATION_EXISTS`, `TOO_LARGE`, `SHUTTING_DOWN`, what `keeper.authoriseReplace` throws
   */
  refuse(name: string, keeper?: Keeper): void {
    if (this.#closed) {
      throw new WarpdexError('SHUTTING_DOWN', 'the server is shutting down; ask again when it is back')
    }
    this.#refuseStored(name)
    const isTaken = this.#results.has(name)
    if (isTaken) keeper?.authoriseReplace?.(name)
    if (isTaken || this.#results.size < LIMITS.keptResults) return
    throw new WarpdexError(
      'TOO_LARGE',
      `${this.#results.size} results are kept, and no more are allowed; drop one, or wait until one expires`,
    )
  }

  /**
   * Takes a result over, in place of a former one of its name, which those who use it may go on with.
   * @param stored is whoever calls' again if this fails
   * @param device that it lies on
   * @param sources names of the relations that it was made of, which stay as they are meanwhile
   * @throws WarpdexError as `refuse`, `DEVICE_LOST`
   */
  async put(
    definition: RelationDefinition,
    seconds: number,
    stored: StoredRelation,
    device: Device,
    keeper?: Keeper,
    sources: readonly string[] = [],
  ): Promise<void> {
    const { name, columns } = definition
    // Somebody else's may have come by the name while the query ran.
    this.refuse(name, keeper)
    // What is put after a loss would not be found by `lose`.
    device.check()
    const structure = pagedRelation(stored, this.#host, columns)
    const { clock } = this.#host
    const onExpiry = (result: KeptResult) => this.#expire(result, seconds)
    const former = this.#results.get(name)
    const watched = new Map(sources.includes(name) ? former?.sources : undefined)
    for (const source of sources) {
      // What it has of the former result of its name is as old as that was.
      if (source !== name && !watched.has(source)) watched.set(source, this.#watch(source))
    }
    const options = { host: this.#host, clock, seconds, sources: watched, onExpiry }
    const result = new KeptResult(definition, structure, options)
    this.#results.set(name, result)
    this.#reasons.delete(name)
    if (former !== undefined) void this.#end(former)
    await this.#host.budget.settle(structure)
  }

  /** Removes one for good; resolves when nobody uses it any more. */
  drop(result: KeptResult): Promise<void> {
    this.#results.delete(result.definition.name)
    return this.#end(result)
  }

  /** A relation has come by a name: what was under it before is of no interest. */
  forget(name: string): void {
    this.#reasons.delete(name)
  }

  /** Removes all, whose device is lost. */
  lose(): void {
    for (const result of this.all()) this.#remove(result, 'was lost with its device')
  }

  /** Removes all, once nobody uses them. */
  async close(): Promise<void> {
    this.#closed = true
    for (const result of this.all()) void this.drop(result)
    await Promise.all(this.#ending)
  }

  #expire(result: KeptResult, seconds: number): void {
    this.#remove(result, `expired after ${seconds} seconds in which nobody used it`)
    this.#host.meter?.happened('expiry')
  }

  #remove(result: KeptResult, reason: string): void {
    const { name } = result.definition
    this.#reasons.delete(name)
    this.#reasons.set(name, reason)
    for (const [oldest] of this.#reasons) if (this.#reasons.size > REMEMBERED) this.#reasons.delete(oldest)
    void this.drop(result)
  }

  #end(result: KeptResult): Promise<void> {
    const ending = result.end(this.unknown(result.definition.name)).finally(() => {
      this.#ending.delete(ending)
    })
    this.#ending.add(ending)
    return ending
  }
}
