import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { Meters } from './meters.js'

/** What happened in one second. Latencies and delays are in microseconds; latencies are 0 where there were no requests. */
export interface Sample {
  /** The second's end, in milliseconds since 1970. */
  readonly at: number
  readonly requests: number
  readonly failures: number
  /** Keys, or ranges. */
  readonly items: number
  readonly bytesIn: number
  readonly bytesOut: number
  /** Small gets, and the dispatches that they shared. */
  readonly gets: number
  readonly dispatches: number
  readonly readsP50: number
  readonly readsP99: number
  readonly writesP50: number
  readonly writesP99: number
  /** How late timers of the event loop were. */
  readonly loopP50: number
  readonly loopP99: number
  readonly loopMax: number
}

export type HistoryField = keyof Sample

/** Counters as they were at the end of a second. */
type Counted = Pick<
  Sample,
  'at' | 'requests' | 'failures' | 'items' | 'bytesIn' | 'bytesOut' | 'gets' | 'dispatches'
>

/** Seconds that are remembered. */
const HISTORY_SECONDS = 300

const SECOND_MS = 1000
/** How often the delay of the event loop is looked at. */
const DELAY_RESOLUTION_MS = 20

/** The last minutes, second by second, so that who looks late sees what was. */
export class History {
  readonly #meters: Meters
  readonly #samples: Sample[] = []
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS })
  readonly #timer: NodeJS.Timeout
  #last: Counted

  constructor(meters: Meters) {
    this.#meters = meters
    this.#last = this.#count()
    this.#delay.enable()
    this.#timer = setInterval(() => this.take(), SECOND_MS)
    this.#timer.unref()
  }

  /** The oldest second first. */
  get samples(): readonly Sample[] {
    return this.#samples
  }

  /** The samples by their figures. */
  columns(): Readonly<Record<HistoryField, readonly number[]>> {
    const column = (field: HistoryField) => this.#samples.map((sample) => sample[field])
    return {
      at: column('at'),
      requests: column('requests'),
      failures: column('failures'),
      items: column('items'),
      bytesIn: column('bytesIn'),
      bytesOut: column('bytesOut'),
      gets: column('gets'),
      dispatches: column('dispatches'),
      readsP50: column('readsP50'),
      readsP99: column('readsP99'),
      writesP50: column('writesP50'),
      writesP99: column('writesP99'),
      loopP50: column('loopP50'),
      loopP99: column('loopP99'),
      loopMax: column('loopMax'),
    }
  }

  /** Ends a second; figures are for one even if it took longer. */
  take(): void {
    const now = this.#count()
    const last = this.#last
    this.#last = now
    const seconds = Math.max(1, now.at - last.at) / SECOND_MS
    const rate = (figure: Exclude<keyof Counted, 'at'>) => Math.round((now[figure] - last[figure]) / seconds)
    const { reads, writes } = this.#meters.latest
    const delay = (percent: number) => Math.round(late(this.#delay.percentile(percent)))
    this.#samples.push({
      at: now.at,
      requests: rate('requests'),
      failures: rate('failures'),
      items: rate('items'),
      bytesIn: rate('bytesIn'),
      bytesOut: rate('bytesOut'),
      gets: rate('gets'),
      dispatches: rate('dispatches'),
      readsP50: reads.quantile(0.5),
      readsP99: reads.quantile(0.99),
      writesP50: writes.quantile(0.5),
      writesP99: writes.quantile(0.99),
      loopP50: delay(50),
      loopP99: delay(99),
      loopMax: Math.round(late(this.#delay.max)),
    })
    if (this.#samples.length > HISTORY_SECONDS) this.#samples.shift()
    reads.clear()
    writes.clear()
    this.#delay.reset()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#delay.disable()
  }

  #count(): Counted {
    const { requests, failures, items, bytesIn, bytesOut, coalescedGets, sharedDispatches } = this.#meters
    const counted = { requests, failures, items, bytesIn, bytesOut }
    return { at: Date.now(), ...counted, gets: coalescedGets, dispatches: sharedDispatches }
  }
}

/** Microseconds past the time at which the monitor wanted to look, of which it reports the whole interval in nanoseconds. */
function late(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1000 - DELAY_RESOLUTION_MS * 1000)
}
