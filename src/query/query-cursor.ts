import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { batchBytes, type ResultBatch } from '../../protocol/query/result.js'

/** Rows of a result, and whether more follow. */
export interface CursorStep {
  readonly batch: ResultBatch
  readonly more: boolean
}

/** Batches without which no reader goes on: the next one, and one that shows that more follow. */
const BATCHES_AHEAD = 2

/**
 * What lies between a query and whoever reads its result: batches up to a bound. The query waits when that is reached. A result is given up when
 * nobody reads on for long, since it takes memory, and its query holds its relations.
 */
export class QueryCursor {
  readonly #onGivenUp: () => void
  readonly #hasRoom: () => boolean
  readonly #batches: ResultBatch[] = []
  #bytes = 0
  #hasBegun = false
  #ended = false
  #failure: WarpdexError | undefined
  #cancelled = false
  #onChange: (() => void)[] = []
  /** Calls of `next` that wait for the query. */
  #readers = 0
  /** Runs while it is up to the reader to go on. */
  #idle: NodeJS.Timeout | undefined

  /**
   * @param onGivenUp told when nobody has read on for too long
   * @param hasRoom whether there is room for more than whoever reads has to have next
   */
  constructor(onGivenUp: () => void = () => {}, hasRoom: () => boolean = () => true) {
    this.#onGivenUp = onGivenUp
    this.#hasRoom = hasRoom
  }

  /** Of batches that wait to be read. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether there was a batch, so that the query cannot be carried out anew. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** @throws WarpdexError `CANCELLED`, or what the query was ended with, where nobody wants the rest any more */
  refuse(): void {
    if (this.#cancelled) throw this.#failure ?? cancelled()
  }

  /**
   * Adds a batch, when there is room for it.
   * @throws WarpdexError as `refuse`
   */
  async push(batch: ResultBatch): Promise<void> {
    while (this.#isFull() && !this.#cancelled) await this.#change()
    this.refuse()
    this.#hasBegun = true
    this.#batches.push(batch)
    this.#bytes += batchBytes(batch)
    this.#changed()
  }

  /** No more batches follow: all are there, or the query has failed. */
  end(failure?: unknown): void {
    this.#ended = true
    if (failure !== undefined) {
      this.#failure ??= toWarpdexError(failure)
      this.#drop()
    }
    this.#changed()
  }

  /**
   * The next batch. With the last one it says that nothing follows, so it waits until that is known.
   * @throws WarpdexError what the query failed with
   */
  async next(): Promise<CursorStep> {
    clearTimeout(this.#idle)
    this.#readers++
    while (this.#batches.length < BATCHES_AHEAD && !this.#ended) await this.#change()
    this.#readers--
    if (this.#failure !== undefined) throw this.#failure
    const batch = this.#batches.shift()
    if (batch === undefined) throw new WarpdexError('BAD_REQUEST', 'the result has been read to its end')
    this.#bytes -= batchBytes(batch)
    this.#changed()
    const more = this.#batches.length > 0
    if (more && this.#readers === 0 && !this.#cancelled) {
      this.#idle = setTimeout(() => this.#giveUp(), LIMITS.stallSeconds * 1000)
      this.#idle.unref()
    }
    return { batch, more }
  }

  /**
   * Has the query end before its next step.
   * @param reason what whoever reads it is told
   */
  cancel(reason?: WarpdexError): void {
    clearTimeout(this.#idle)
    this.#failure ??= reason
    this.#cancelled = true
    this.#drop()
    this.#changed()
  }

  #isFull(): boolean {
    if (this.#bytes >= LIMITS.queryQueuedBytes) return true
    return this.#batches.length >= BATCHES_AHEAD && !this.#hasRoom()
  }

  #drop(): void {
    this.#batches.length = 0
    this.#bytes = 0
  }

  #giveUp(): void {
    this.#failure = notReadOn()
    this.cancel()
    this.#onGivenUp()
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#onChange.push(resolve))
  }

  #changed(): void {
    for (const resolve of this.#onChange.splice(0)) resolve()
  }
}

export function cancelled(): WarpdexError {
  return new WarpdexError('CANCELLED', 'the query was cancelled')
}

/** What a result is answered with that nobody has read on for too long. */
export function notReadOn(): WarpdexError {
  const message = `the result was not read on for ${LIMITS.stallSeconds} seconds; ask again, and for less at a time`
  return new WarpdexError('CANCELLED', message)
}
