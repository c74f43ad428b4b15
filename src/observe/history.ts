import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { type Meters, recordOf } from './meters.js'

/** What is counted; figures are of a second. `dispatches` are those that small reads shared. */
const COUNTERS = {
  requests: 'requests',
  failures: 'failures',
  items: 'items',
  bytesIn: 'bytesIn',
  bytesOut: 'bytesOut',
  smallReads: 'smallReads',
  dispatches: 'sharedDispatches',
} as const satisfies Record<string, keyof Meters>

/** Microseconds: latencies, which are 0 where there were no requests, and how late timers of the event loop were. */
const TIMES = ['readsP50', 'readsP99', 'writesP50', 'writesP99', 'loopP50', 'loopP99', 'loopMax'] as const

type Counter = keyof typeof COUNTERS

/** What is known of a second; `at` is its end, in milliseconds since 1970. */
export type HistoryField = 'at' | Counter | (typeof TIMES)[number]

const COUNTER_NAMES = Object.keys(COUNTERS) as Counter[]

/** Seconds that are remembered. */
const HISTORY_SECONDS = 300

const SECOND_MS = 1000
/** How often the delay of the event loop is looked at. */
const DELAY_RESOLUTION_MS = 20

/** The last minutes, second by second, so that who looks late sees what was. */
export class History {
  /** By figure, the oldest second first. */
  readonly columns: Readonly<Record<HistoryField, readonly number[]>>
  readonly #columns = recordOf(['at', ...COUNTER_NAMES, ...TIMES], (): number[] => [])
  readonly #meters: Meters
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS })
  readonly #timer: NodeJS.Timeout
  #last: Readonly<Record<'at' | Counter, number>>

  constructor(meters: Meters) {
    this.columns = this.#columns
    this.#meters = meters
    this.#last = this.#count()
    this.#delay.enable()
    this.#timer = setInterval(() => this.take(), SECOND_MS)
    this.#timer.unref()
  }

  /** Ends a second; figures are for one even if it took longer. */
  take(): void {
    const now = this.#count()
    const last = this.#last
    this.#last = now
    const seconds = Math.max(1, now.at - last.at) / SECOND_MS
    const { reads, writes } = this.#meters.latest
    const sample: Record<HistoryField, number> = {
      at: now.at,
      ...recordOf(COUNTER_NAMES, (name) => Math.round((now[name] - last[name]) / seconds)),
      readsP50: reads.quantile(0.5),
      readsP99: reads.quantile(0.99),
      writesP50: writes.quantile(0.5),
      writesP99: writes.quantile(0.99),
      loopP50: late(this.#delay.percentile(50)),
      loopP99: late(this.#delay.percentile(99)),
      loopMax: late(this.#delay.max),
    }
    for (const [field, column] of Object.entries(this.#columns)) {
      column.push(sample[field as HistoryField])
      if (column.length > HISTORY_SECONDS) column.shift()
    }
    reads.clear()
    writes.clear()
    this.#delay.reset()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#delay.disable()
  }

  #count(): Record<'at' | Counter, number> {
    return { at: Date.now(), ...recordOf(COUNTER_NAMES, (name) => this.#meters[COUNTERS[name]]) }
  }
}

/** Microseconds past the time at which the monitor wanted to look, of which it reports the whole interval in nanoseconds. */
function late(nanoseconds: number): number {
  return Math.round(Math.max(0, nanoseconds / 1000 - DELAY_RESOLUTION_MS * 1000))
}
