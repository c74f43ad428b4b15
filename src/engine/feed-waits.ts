import { LIMITS } from '../../protocol/limits.js'
import type { Clock } from './clock.js'

/** Whoever waits for changes, and may give up. */
export interface Watcher {
  readonly cancelled: boolean
  /** Called when it gives up. */
  onCancel: (() => void) | undefined
}

/** Those who wait for the logs of indexes to grow. */
export class FeedWaits {
  readonly #clock: Clock
  /** By the id of the index, what ends each wait. */
  readonly #waiting = new Map<number, Set<() => void>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How many wait. */
  get count(): number {
    let count = 0
    for (const { size } of this.#waiting.values()) count += size
    return count
  }

  /** Resolves when the index is woken, the watcher gives up, or `watchSeconds` have passed. */
  wait(index: number, watcher: Watcher): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(index) ?? new Set()
      this.#waiting.set(index, waiting)
      const end = () => {
        stopTimer()
        waiting.delete(end)
        if (waiting.size === 0) this.#waiting.delete(index)
        resolve()
      }
      const stopTimer = this.#clock.after(LIMITS.watchSeconds * 1000, end)
      waiting.add(end)
      watcher.onCancel = end
    })
  }

  /** Ends all waits for an index: its log has grown, or it is not what it was. */
  wake(index: number): void {
    for (const end of [...(this.#waiting.get(index) ?? [])]) end()
  }

  /** Ends all waits. */
  end(): void {
    for (const index of [...this.#waiting.keys()]) this.wake(index)
  }
}
