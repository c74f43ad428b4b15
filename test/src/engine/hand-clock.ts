import type { Clock } from '../../../src/engine/index.js'

/** Time that goes by when it is told to. */
export class HandClock implements Clock {
  #now = 0
  readonly #calls = new Set<{ readonly at: number; readonly call: () => void }>()

  now(): number {
    return this.#now
  }

  after(milliseconds: number, call: () => void): () => void {
    const entry = { at: this.#now + milliseconds, call }
    this.#calls.add(entry)
    return () => this.#calls.delete(entry)
  }

  pass(seconds: number): void {
    this.#now += seconds * 1000
    for (const entry of [...this.#calls]) {
      if (entry.at > this.#now || !this.#calls.delete(entry)) continue
      entry.call()
    }
  }
}
