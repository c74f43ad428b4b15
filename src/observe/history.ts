import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { LogHistogram } from './log-histogram.js'
import { type Meters, recordOf } from './meters.js'

/** What is counted; figures are per second. `dispatches` are those that small reads shared. */
const COUNTERS = {
  requests: 'requests',
  failures: 'failures',
  items: 'items',
  bytesIn: 'bytesIn',
  bytesOut: 'bytesOut',
  smallReads: 'smallReads',
  dispatches: 'sharedDispatches',
} as const satisfies Record<string, keyof Meters>

/** Latencies in microseconds, which are 0 where there were no requests. */
const LATENCIES = ['readsP50', 'readsP99', 'writesP50', 'writesP99'] as const

/** Microseconds that timers of the event loop were late. */
const DELAYS = ['loopP50', 'loopP99', 'loopMax'] as const

type Counter = keyof typeof COUNTERS

/** What is known of a span of time; `at` is its end, in milliseconds since 1970. */
export type HourField = 'at' | Counter | (typeof LATENCIES)[number]

/** What is known of a second. */
export type HistoryField = HourField | (typeof DELAYS)[number]

const COUNTER_NAMES = Object.keys(COUNTERS) as Counter[]
const HOUR_FIELDS = ['at', ...COUNTER_NAMES, ...LATENCIES] as const

/** Seconds that are remembered one by one. */
const HISTORY_SECONDS = 300
/** Of an hour, spans of so many seconds. */
const SPAN_SECONDS = 10
const HOUR_SPANS = 3600 / SPAN_SECONDS

const SECOND_MS = 1000
/** How often the delay of the event loop is looked at. */
const DELAY_RESOLUTION_MS = 20

/** The last of many samples: a column per figure, the oldest first. */
class Columns<Field extends string> {
  readonly columns: Readonly<Record<Field, number[]>>
  readonly #fields: readonly Field[]
  readonly #most: number

  constructor(fields: readonly Field[], most: number) {
    this.columns = recordOf(fields, () => [])
    this.#fields = fields
    this.#most = most
  }

  push(sample: Readonly<Record<Field, number>>): void {
    for (const field of this.#fields) {
      const column = this.columns[field]
      column.push(sample[field])
      if (column.length > this.#most) column.shift()
    }
  }
}

/** A span of time under way: what was counted at its begin, and latencies since. */
class Span {
  readonly reads = new LogHistogram()
  readonly writes = new LogHistogram()
  #since: Readonly<Record<'at' | Counter, number>>

  constructor(since: Readonly<Record<'at' | Counter, number>>) {
    this.#since = since
  }

  /** Ends it, and begins the next; figures are per second, however long it took. */
  end(now: Readonly<Record<'at' | Counter, number>>): Record<HourField, number> {
    const since = this.#since
    const seconds = Math.max(1, now.at - since.at) / SECOND_MS
    const { reads, writes } = this
    const sample = {
      at: now.at,
      ...recordOf(COUNTER_NAMES, (name) => Math.round((now[name] - since[name]) / seconds)),
      readsP50: reads.quantile(0.5),
      readsP99: reads.quantile(0.99),
      writesP50: writes.quantile(0.5),
      writesP99: writes.quantile(0.99),
    }
    this.#since = now
    reads.clear()
    writes.clear()
    return sample
  }
}

/** The last minutes second by second, and the last hour in spans of ten, so that who looks late sees what was. */
export class History {
  readonly #seconds = new Columns<HistoryField>([...HOUR_FIELDS, ...DELAYS], HISTORY_SECONDS)
  readonly #hour = new Columns<HourField>(HOUR_FIELDS, HOUR_SPANS)
  readonly #meters: Meters
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS })
  readonly #timer: NodeJS.Timeout
  readonly #second: Span
  readonly #span: Span
  /** Seconds of the present span that have ended. */
  #ended = 0

  constructor(meters: Meters) {
    this.#meters = meters
    this.#second = new Span(this.#count())
    this.#span = new Span(this.#count())
    this.#delay.enable()
    this.#timer = setInterval(() => this.take(), SECOND_MS)
    this.#timer.unref()
  }

  /** The last seconds by figure, the oldest first. */
  get columns(): Readonly<Record<HistoryField, readonly number[]>> {
    return this.#seconds.columns
  }

  /** The last hour likewise. */
  get hour(): Readonly<Record<HourField, readonly number[]>> {
    return this.#hour.columns
  }

  /** Ends a second. */
  take(): void {
    const now = this.#count()
    for (const kind of ['reads', 'writes'] as const) {
      const latencies = this.#meters.latest[kind].take()
      this.#second[kind].add(latencies)
      this.#span[kind].add(latencies)
    }
    this.#seconds.push({
      ...this.#second.end(now),
      loopP50: late(this.#delay.percentile(50)),
      loopP99: late(this.#delay.percentile(99)),
      loopMax: late(this.#delay.max),
    })
    this.#delay.reset()
    if (++this.#ended % SPAN_SECONDS === 0) this.#hour.push(this.#span.end(now))
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
