import { setTimeout as pause } from 'node:timers/promises'
import type { ReplicatedLog } from './replicated-log.js'

/** How often the end of the log is asked for. */
const LOOK_MS = 250

interface FreshnessOptions {
  readonly log: Pick<ReplicatedLog, 'head'>
  /** Up to which position in the log the node has everything. */
  readonly position: () => number
  /** Whether nobody else can have appended anything. */
  readonly isOwner: () => boolean
}

/**
 * How fresh a node's data is, as far as it can know: it asks again and again where the log ends, and has everything that was appended before
 * the last question whose answer it has reached.
 */
export class Freshness {
  readonly #options: FreshnessOptions
  /** By `performance.now()`: the node has all that was appended before. */
  #since: number | undefined
  /** The question whose answer is still to be reached. */
  #asked: { readonly at: number; readonly head: number } | undefined

  constructor(options: FreshnessOptions) {
    this.#options = options
  }

  /** Milliseconds: what was acknowledged so long ago, or before, is there. Undefined where that is not known. */
  get behind(): number | undefined {
    if (this.#options.isOwner()) return 0
    this.#look()
    return this.#since === undefined ? undefined : Math.ceil(performance.now() - this.#since)
  }

  async run(stop: AbortSignal): Promise<void> {
    const { log, isOwner } = this.#options
    while (!stop.aborted) {
      const at = performance.now()
      this.#look()
      if (isOwner()) {
        this.#since = at
        this.#asked = undefined
      } else if (this.#asked === undefined) {
        const head = await log.head().catch(() => undefined)
        if (stop.aborted) return
        if (head !== undefined) this.#asked = { at, head }
        this.#look()
      }
      await pause(LOOK_MS, undefined, { signal: stop }).catch(() => {})
    }
  }

  #look(): void {
    if (this.#asked === undefined || this.#options.position() < this.#asked.head) return
    this.#since = this.#asked.at
    this.#asked = undefined
  }
}
