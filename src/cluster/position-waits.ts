import { LIMITS } from '../../protocol/limits.js'
import type { Watcher } from '../engine/feed-waits.js'

/** How often is looked whether a position is reached: less than an entry of the log takes. */
const LOOK_MS = 5

/** Those who wait for a node to have everything up to a position in the log. */
export class PositionWaits {
  readonly #position: () => number
  /** What ends each wait, and the position. */
  readonly #waiting = new Map<() => void, number>()
  #looking: NodeJS.Timeout | undefined

  /** @param position that the node has */
  constructor(position: () => number) {
    this.#position = position
  }

  /** Resolves when the position is reached, whoever waits gives up, or `watchSeconds` have passed. */
  wait(position: number, watcher: Watcher): Promise<void> {
    if (position <= this.#position()) return Promise.resolve()
    this.#looking ??= setInterval(() => this.#look(), LOOK_MS)
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        this.#waiting.delete(end)
        resolve()
      }
      const timer = setTimeout(end, LIMITS.watchSeconds * 1000)
      this.#waiting.set(end, position)
      watcher.onCancel = end
    })
  }

  /** Ends all waits. */
  end(): void {
    clearInterval(this.#looking)
    for (const end of [...this.#waiting.keys()]) end()
  }

  #look(): void {
    const position = this.#position()
    for (const [end, wanted] of [...this.#waiting]) if (wanted <= position) end()
    if (this.#waiting.size > 0) return
    clearInterval(this.#looking)
    this.#looking = undefined
  }
}
