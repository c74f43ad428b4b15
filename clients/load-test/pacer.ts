/** Milliseconds before its time at which a timer is given up for turns of the event loop, which are finer. */
const FINE = 2

interface Waiting {
  readonly due: number
  readonly resolve: () => void
}

/** Wakes those who wait for a time of `performance.now()`, to a fraction of a millisecond. They come in the order of their times. */
export class Pacer {
  readonly #waiting: Waiting[] = []
  #first = 0
  #running = false

  until(due: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ due, resolve })
      if (!this.#running) this.#run()
    })
  }

  #run = (): void => {
    const now = performance.now()
    while (this.#first < this.#waiting.length && this.#waiting[this.#first].due <= now) {
      this.#waiting[this.#first++].resolve()
    }
    this.#running = this.#first < this.#waiting.length
    if (this.#first > 1024 || !this.#running) this.#waiting.splice(0, this.#first)
    if (this.#first > 1024 || !this.#running) this.#first = 0
    if (!this.#running) return
    const remaining = this.#waiting[this.#first].due - now
    if (remaining > FINE) setTimeout(this.#run, remaining - FINE)
    else setImmediate(this.#run)
  }
}
