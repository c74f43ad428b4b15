/** A device to which nothing was submitted for so long has nothing to do. */
const IDLE_MS = 20

/** What is to be done in idle time waits no longer than that. */
const MOST_WAIT_MS = 1000

/** Finds time for what nobody waits for. */
export class IdleTime {
  #submissions = 0
  #isOver = false

  /** Called with each submission. */
  noteSubmission(): void {
    this.#submissions++
  }

  /** Calls back when nothing has been submitted for a while; after a longer while in any case. */
  whenIdle(call: () => void, waitedMs = 0): void {
    const before = this.#submissions
    const look = () => {
      if (this.#isOver) return
      if (this.#submissions === before || waitedMs >= MOST_WAIT_MS) call()
      else this.whenIdle(call, waitedMs + IDLE_MS)
    }
    setTimeout(look, IDLE_MS).unref()
  }

  /** Calls nobody back from now on. */
  end(): void {
    this.#isOver = true
  }
}
