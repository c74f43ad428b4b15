import type { Clock } from '../../../src/engine/index.js'

/** Time that goes by when it is told to. */
export class HandClock implements Clock {
  #now = 0
  #date = 1_750_000_000_000
  readonly #calls = new Set<{ readonly at: number; readonly call: () => void }>()

  now(): number {
    return this.#now
  }

  date(): number {
    return this.#date
  }

  /** Sets the time of day, by so many seconds from what it is. */
  jump(seconds: number): void {
    this.#date += seconds * 1000
  }

  after(milliseconds: number, call: () => void): () => void {
    const entry = { at: this.#now + milliseconds, call }
    this.#calls.add(entry)
    return () => this.#calls.delete(entry)
  }

  pass(seconds: number): void {
    this.#now += seconds * 1000
    this.#date += seconds * 1000
    for (const entry of [...this.#calls]) {
      if (entry.at > this.#now || !this.#calls.delete(entry)) continue
      entry.call()
    }
  }
}
