/** Milliseconds within which somebody who asks one thing after the other asks again. */
const WINDOW_MS = 0.5

/**
 * Keeps this thread's event loop turning while requests come right after each other: to be woken takes a thread that sleeps as long as
 * all that it does for a small request. After a pause the first one finds it asleep, so whoever asks now and then costs nothing.
 */
export class BusyPolling {
  readonly #now: () => number
  #last = Number.NEGATIVE_INFINITY
  #turning = false

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Whether the loop is kept turning. */
  get turning(): boolean {
    return this.#turning
  }

  /** A request has come. */
  arrived(): void {
    const soon = this.#isSoon()
    this.#last = this.#now()
    if (!soon || this.#turning) return
    this.#turning = true
    this.#nextTurn()
  }

  #isSoon(): boolean {
    return this.#now() - this.#last < WINDOW_MS
  }

  #nextTurn(): void {
    setImmediate(() => {
      this.#turning = this.#isSoon()
      if (this.#turning) this.#nextTurn()
    })
  }
}
