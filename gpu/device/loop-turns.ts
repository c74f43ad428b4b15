/**
 * Knows when the event loop came round, as long as somebody watches it. In each of its turns Dawn looks at what the device has done, so that whatever is noticed
 * has happened since the turn before; where the thread was busy in between, that is long ago.
 */
export class LoopTurns {
  readonly #isWatched: () => boolean
  #isTurning = false
  #last = 0
  #before = 0

  /** @param isWatched asked in each turn */
  constructor(isWatched: () => boolean) {
    this.#isWatched = isWatched
  }

  /** What is noticed at the moment had not happened then. The last turn may have begun just before this call, and Dawn not have looked in it. */
  get since(): number {
    return this.#before
  }

  /** Called when somebody begins to watch. */
  watch(): void {
    if (this.#isTurning) return
    this.#isTurning = true
    this.#last = performance.now()
    this.#before = this.#last
    setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#before = this.#last
    this.#last = performance.now()
    this.#isTurning = this.#isWatched()
    if (this.#isTurning) setImmediate(this.#turn)
  }
}
