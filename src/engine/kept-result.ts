import type { RelationFigures, StoredRelation } from '../../gpu/relational/stored/stored-relation.js'
import type { WarpdexError } from '../../protocol/errors.js'
import type { Lifetime, RelationDefinition, RelationInfo } from '../../protocol/relation.js'
import type { Clock } from './clock.js'
import type { PagingHost } from './engine-host.js'
import { type Reader, requireWanted } from './index-requests.js'
import type { HeldRelation, RelationFacts } from './named-relation.js'
import type { PagedStructure, PlaceStats } from './paged-structure.js'
import { type ReadRows, type RowsOfColumns, readColumns } from './relation-reader.js'

export interface KeptResultOptions {
  readonly host: PagingHost
  readonly clock: Clock
  /** Seconds for which it stays while nobody uses it. */
  readonly seconds: number
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
    return { ...this.definition, indexes: [], kept: { seconds, secondsLeft } }
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
