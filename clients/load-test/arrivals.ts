import type { Random } from './random.js'

/** How requests of an open loop arrive: in equal steps, or at random as those of many independent users do. */
export const ARRIVALS = ['constant', 'poisson'] as const
export type Arrivals = (typeof ARRIVALS)[number]

/** The times, in milliseconds from the start, at which the requests of one process are due, one after the other. */
export class Schedule {
  readonly #gap: number
  readonly #random: Random | undefined
  #start: number
  #count = 0
  #next: number

  /**
   * @param rate requests a second over all processes
   * @param process number of this one: with constant arrivals, processes take turns
   */
  constructor(rate: number, arrivals: Arrivals, process: number, processes: number, random: Random) {
    this.#gap = (1000 * processes) / rate
    this.#random = arrivals === 'poisson' ? random : undefined
    this.#start = (this.#gap * process) / processes
    this.#next = this.#random === undefined ? this.#start : this.#randomGap(this.#random)
  }

  /** When the next request is due. */
  get next(): number {
    return this.#next
  }

  /** Takes the next request. */
  take(): number {
    const due = this.#next
    this.#count++
    // Not a sum of gaps, which would add up their rounding.
    this.#next =
      this.#random === undefined ? this.#start + this.#count * this.#gap : due + this.#randomGap(this.#random)
    return due
  }

  #randomGap(random: Random): number {
    return -Math.log(1 - random.fraction()) * this.#gap
  }
}
