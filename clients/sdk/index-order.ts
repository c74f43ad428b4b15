import { afterThis, type Bounds, withinBounds } from './call-options.js'

/** In Node the end of the event loop's turn gathers more than the end of the microtask queue; browsers have only the latter. */
const atEndOfTurn: (run: () => void) => void =
  typeof setImmediate === 'function' ? setImmediate : queueMicrotask

/** A turn of an index: when it has come, and its end. */
export interface Turn {
  readonly before: Promise<void>
  leave(): void
}

/**
 * Keeps the requests to each index in the order of the calls where some of them do not leave at once: single calls that are being gathered
 * leave before the next request to their index, and requests wait for a batch that leaves in pieces, or that is one of several indexes.
 */
export class IndexOrder {
  /** What sends the single calls that are being gathered, by index. */
  readonly #gathered = new Map<string, () => void>()
  /** Resolves when the last turn that was taken is left, by index. */
  readonly #turns = new Map<string, Promise<void>>()

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
    return this.#turns.size === 0 ? undefined : this.#turns.get(index)
  }

  /** Takes a turn behind all requests to the index that were made before: those that are made from then on wait until it is left. */
  take(index: string): Turn {
    const before = this.turn(index) ?? Promise.resolve()
    let leave: () => void = () => {}
    const left = new Promise<void>((resolve) => {
      leave = resolve
    })
    this.#turns.set(index, left)
    // Whoever waits goes on first; who comes until then waits as well, lest it overtake them.
    const forget = () => {
      if (this.#turns.get(index) === left) this.#turns.delete(index)
    }
    void left.then(() => afterThis(forget))
    return { before, leave }
  }

  /**
   * Sends a batch in pieces when its turn has come. Requests to the index that are made meanwhile wait.
   * @param run calls `sent` when the last piece is
   */
  sendPieces<T>(index: string, bounds: Bounds, run: (sent: () => void) => Promise<T>): Promise<T> {
    return inTurns([this.take(index)], bounds, run)
  }

  /** Has what is being gathered leave now. */
  flush(index: string): void {
    const flush = this.#gathered.get(index)
    this.#gathered.delete(index)
    flush?.()
  }
}

/** Does something when turns have come that were taken, which `run` leaves as soon as others may go on. */
export async function inTurns<T>(
  turns: readonly Turn[],
  bounds: Bounds,
  run: (leave: () => void) => Promise<T>,
): Promise<T> {
  const before = Promise.all(turns.map((turn) => turn.before))
  try {
    await withinBounds<void>(bounds, (resolve) => void before.then(() => resolve()))
    return await run(() => {
      for (const { leave } of turns) leave()
    })
  } finally {
    // Where this one has given up waiting, others still come after the one before it.
    for (const turn of turns) void turn.before.then(turn.leave)
  }
}
