import type { Histogram } from 'hdr-histogram-js'
import { encodeHistogram, latencyHistogram, recordMilliseconds } from './histogram.js'
import { OPERATIONS, type Operation } from './workloads.js'

/** What one process did in one interval. */
export interface IntervalPart {
  /** Number of the interval, from 0. */
  readonly number: number
  readonly requests: number
  readonly items: number
  readonly errors: number
  /** Latencies of all its requests. */
  readonly histogram: string
}

/** What one process did of one kind. */
export interface OperationPart {
  readonly requests: number
  readonly items: number
  readonly histogram: string
}

/** All that one process measured. */
export interface MeasuredPart {
  readonly operations: Readonly<Partial<Record<Operation, OperationPart>>>
  /** Requests that failed, by their errors' codes. */
  readonly errors: Readonly<Record<string, number>>
  /** How much later than planned requests were sent for which a connection was free: what the load driver itself adds. */
  readonly lateness: string
  /** Milliseconds from the start to the last answer. */
  readonly milliseconds: number
}

class Figures {
  requests = 0
  items = 0
  readonly histogram: Histogram = latencyHistogram()

  add(items: number, milliseconds: number): void {
    this.requests++
    this.items += items
    recordMilliseconds(this.histogram, milliseconds)
  }
}

/** Gathers what one process measures: a record for each request, not for each key. Times are those of `performance.now()`. */
export class Recorder {
  readonly #start: number
  readonly #interval: number
  readonly #onInterval: (part: IntervalPart) => void
  readonly #operations = new Map<Operation, Figures>()
  readonly #errors = new Map<string, number>()
  readonly #lateness = latencyHistogram()
  #current = new Figures()
  #currentErrors = 0
  #number = 0
  #last: number

  /** @param interval milliseconds */
  constructor(start: number, interval: number, onInterval: (part: IntervalPart) => void) {
    this.#start = start
    this.#last = start
    this.#interval = interval
    this.#onInterval = onInterval
  }

  /** A request was answered. @param due when it began or, in an open loop, should have begun */
  answered(operation: Operation, items: number, due: number, end: number): void {
    this.advance(end)
    this.#current.add(items, end - due)
    const figures = this.#operations.get(operation) ?? new Figures()
    this.#operations.set(operation, figures)
    figures.add(items, end - due)
  }

  failed(code: string, end: number): void {
    this.advance(end)
    this.#currentErrors++
    this.#errors.set(code, (this.#errors.get(code) ?? 0) + 1)
  }

  late(milliseconds: number): void {
    recordMilliseconds(this.#lateness, milliseconds)
  }

  /** Hands over the intervals that are over now. */
  advance(now: number): void {
    this.#last = Math.max(this.#last, now)
    const number = Math.floor((now - this.#start) / this.#interval)
    if (number > this.#number) this.#handOver(number)
  }

  /** Hands over the rest. */
  finish(): MeasuredPart {
    this.#handOver(this.#number + 1)
    const operations: Partial<Record<Operation, OperationPart>> = {}
    for (const operation of OPERATIONS) {
      const figures = this.#operations.get(operation)
      if (figures === undefined) continue
      const { requests, items, histogram } = figures
      operations[operation] = { requests, items, histogram: encodeHistogram(histogram) }
    }
    return {
      operations,
      errors: Object.fromEntries(this.#errors),
      lateness: encodeHistogram(this.#lateness),
      milliseconds: this.#last - this.#start,
    }
  }

  #handOver(next: number): void {
    const { requests, items, histogram } = this.#current
    if (requests > 0 || this.#currentErrors > 0) {
      const part = { number: this.#number, requests, items, errors: this.#currentErrors }
      this.#onInterval({ ...part, histogram: encodeHistogram(histogram) })
      this.#current = new Figures()
      this.#currentErrors = 0
    }
    this.#number = next
  }
}
