import { LIMITS } from '../../protocol/limits.js'
import type { SlowRequest } from '../../protocol/slow-request.js'

/** The last requests that took longer than a threshold. */
export class SlowLog {
  /** Milliseconds; infinite where none are kept. */
  readonly threshold: number
  readonly #requests: SlowRequest[] = []
  #last = 0

  /** @param threshold in milliseconds; 0 keeps none */
  constructor(threshold: number) {
    this.threshold = threshold === 0 ? Number.POSITIVE_INFINITY : threshold
  }

  /** As clients are told it: 0 where none are kept. */
  get told(): number {
    return Number.isFinite(this.threshold) ? this.threshold : 0
  }

  /** Number of the last one that was slow; 0 without any. */
  get last(): number {
    return this.#last
  }

  /** Keeps a request if it is slow, in the place of the oldest one. */
  add(request: Omit<SlowRequest, 'number'>): void {
    if (request.milliseconds <= this.threshold) return
    this.#requests.push({ number: ++this.#last, ...request })
    if (this.#requests.length > LIMITS.slowRequests) this.#requests.shift()
  }

  /** Those that were kept after the one of that number, in the order in which they were answered. */
  after(number: number): readonly SlowRequest[] {
    return this.#requests.filter((request) => request.number > number)
  }
}
