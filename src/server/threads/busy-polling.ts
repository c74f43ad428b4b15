/** Milliseconds after an answer within which somebody who asks one thing after the other asks again. */
const WINDOW_MS = 0.5

/**
 * Keeps this thread's event loop turning while requests come right after each other: a thread that sleeps takes about as long to wake up as a
 * small request takes in all, and a request between two threads wakes two. After a pause the first one finds it asleep, so whoever asks now and
 * then costs nothing. Without it a request of one key takes twice as long on a GPU host; see docs/comparison.md.
 */
export class BusyPolling {
  readonly #now: () => number
  #last = Number.NEGATIVE_INFINITY
  #turning = false
  #inSuccession = false

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Whether the loop is kept turning. */
  get turning(): boolean {
    return this.#turning
  }

  /** A request has come. Where the CPU is the device it needs the core, and the loop is left alone. */
  arrived({ software }: { readonly software: boolean }): void {
    if (software) return
    this.#inSuccession = this.#isSoon()
    this.#note()
  }

  /** What had come is answered: however long that took, who waits for it asks again from now on. */
  answered(): void {
    this.#note()
  }

  #note(): void {
    this.#last = this.#now()
    if (!this.#inSuccession || this.#turning) return
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
