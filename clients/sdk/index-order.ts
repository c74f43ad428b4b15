import { afterThis, type Bounds, withinBounds } from './call-options.js'

/** In Node the end of the event loop's turn gathers more than the end of the microtask queue; browsers have only the latter. */
const atEndOfTurn: (run: () => void) => void =
  typeof setImmediate === 'function' ? setImmediate : queueMicrotask

/**
 * Keeps the requests to each index in the order of the calls where some of them do not leave at once: single calls that are being gathered
 * leave before the next request to their index, and requests wait for a batch that leaves in pieces.
 */
export class IndexOrder {
  /** What sends the single calls that are being gathered, by index. */
  readonly #gathered = new Map<string, () => void>()
  /** Resolves when all pieces of the last batch are sent, by index. */
  readonly #batches = new Map<string, Promise<void>>()

  /** Whether single calls are being gathered. */
  get gathers(): boolean {
    return this.#gathered.size > 0
  }

  /** Has `flush` called before the next request to the index, or at the end of the turn. */
  gather(index: string, flush: () => void): void {
    this.flush(index)
    this.#gathered.set(index, flush)
    atEndOfTurn(() => {
      if (this.#gathered.get(index) === flush) this.flush(index)
    })
  }

  /** What a request that is made now has to wait for, which is nothing most of the time. */
  turn(index: string): Promise<void> | undefined {
    if (this.#gathered.size > 0) this.flush(index)
    return this.#batches.size === 0 ? undefined : this.#batches.get(index)
  }

  /**
   * Sends a batch in pieces when its turn has come. Requests to the index that are made meanwhile wait.
   * @param run calls `sent` when the last piece is
   */
  async sendPieces<T>(index: string, bounds: Bounds, run: (sent: () => void) => Promise<T>): Promise<T> {
    const before = this.turn(index) ?? Promise.resolve()
    let sent: () => void = () => {}
    const batch = new Promise<void>((resolve) => {
      sent = resolve
    })
    this.#batches.set(index, batch)
    // Whoever waits goes on first; who comes until then waits as well, lest it overtake them.
    const forget = () => {
      if (this.#batches.get(index) === batch) this.#batches.delete(index)
    }
    void batch.then(() => afterThis(forget))
    const wait = (resolve: () => void) => void before.then(resolve)
    try {
      await withinBounds<void>(bounds, wait)
      return await run(sent)
    } finally {
      // Where this one has given up waiting, others still come after the one before it.
      wait(sent)
    }
  }

  /** Has what is being gathered leave now. */
  flush(index: string): void {
    const flush = this.#gathered.get(index)
    this.#gathered.delete(index)
    flush?.()
  }
}
