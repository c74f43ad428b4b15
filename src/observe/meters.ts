import { DATA_OPS, WRITES } from '../../protocol/data-request.js'
import { ERROR_CODES, type WarpdexError } from '../../protocol/errors.js'
import { CONTROL_OPS, type Request } from '../../protocol/messages.js'
import { type HistogramData, LogHistogram } from './log-histogram.js'
import { ENGINE_EVENTS, type EngineEvent, type EngineMeter } from './meter.js'

/** Operations, and what could not be read as one. */
const METERED_OPS = [...CONTROL_OPS, ...DATA_OPS, 'unknown'] as const
export type MeteredOp = (typeof METERED_OPS)[number]

export const OUTCOMES = ['OK', ...ERROR_CODES] as const

/** Stages of a request's way. Those of decoding and replying are taken of every sixteenth request, lest they cost too much. */
export const STAGES = ['decode', 'queue', 'coalesce', 'device', 'log', 'reply'] as const
export type Stage = (typeof STAGES)[number]

/** Requests of which one has its stages measured. A power of two. */
const SAMPLING = 16

/** A watch is none of them: what it mostly does is wait. */
const READS: ReadonlySet<string> = new Set([
  ...DATA_OPS.filter((op) => !WRITES.has(op) && op !== 'watch'),
  'query',
  'queryNext',
])

/** Counters of requests, as far as they are counted where sockets are. */
const REQUEST_COUNTERS = ['requests', 'failures', 'items', 'bytesIn', 'bytesOut'] as const

/** What was counted in another thread since it last said so. */
export interface MeterCounts {
  readonly counters: Readonly<Record<(typeof REQUEST_COUNTERS)[number], number>>
  /** Of operations of which there were requests. */
  readonly outcomes: readonly (readonly [op: MeteredOp, counts: OpMeter['outcomes']])[]
  /** In which something was recorded, by their places among those that are recorded where sockets are. */
  readonly histograms: readonly (readonly [place: number, recorded: HistogramData])[]
}

/** A value for each key. */
export function recordOf<K extends string, V>(keys: readonly K[], make: (key: K) => V): Record<K, V> {
  // It has the keys that were given.
  return Object.fromEntries(keys.map((key) => [key, make(key)])) as Record<K, V>
}

/** What became of a request. Times are in milliseconds, as `performance.now()` counts. */
export interface RequestOutcome {
  /** Undefined for a message that could not be read. */
  readonly request: Request | undefined
  readonly error: WarpdexError | undefined
  /** How long the reading took. */
  readonly decodeMilliseconds: number
  /** When it began, and when its result was there; 0 without one. */
  readonly since: number
  readonly ran: number
  readonly bytesIn: number
  readonly bytesOut: number
}

/** What is known of the requests of one operation. */
export class OpMeter {
  readonly op: MeteredOp
  /** Which latencies of a second they count among. */
  readonly kind: 'reads' | 'writes' | undefined
  /** Requests by outcome. */
  readonly outcomes = recordOf(OUTCOMES, () => 0)
  /** Microseconds from a message's arrival to its reply's departure. */
  readonly latency = new LogHistogram()
  /** Keys, or ranges, of requests that were carried out. */
  readonly items = new LogHistogram()

  constructor(op: MeteredOp) {
    this.op = op
    this.kind = READS.has(op) ? 'reads' : WRITES.has(op) ? 'writes' : undefined
  }
}

/** Plain counters of all that the server and the engine tell. They only grow, but for what is under way. */
export class Meters implements EngineMeter {
  readonly ops: Readonly<Record<MeteredOp, OpMeter>> = recordOf(METERED_OPS, (op) => new OpMeter(op))
  /** Microseconds by stage. */
  readonly stages: Readonly<Record<Stage, LogHistogram>> = recordOf(STAGES, () => new LogHistogram())
  readonly events = recordOf(ENGINE_EVENTS, () => 0)
  /** Latencies of the present second, in microseconds; whoever keeps the history clears them. */
  readonly latest = { reads: new LogHistogram(), writes: new LogHistogram() }
  /** What is recorded where sockets are. */
  readonly #recorded: readonly LogHistogram[] = [
    this.stages.decode,
    this.stages.reply,
    this.latest.reads,
    this.latest.writes,
    ...Object.values(this.ops).flatMap(({ latency, items }) => [latency, items]),
  ]
  requests = 0
  failures = 0
  items = 0
  bytesIn = 0
  bytesOut = 0
  connections = 0
  connectionsOpened = 0
  connectionsRefused = 0
  slowConsumers = 0
  /** Requests that are not answered, and their bytes with those of requests that are coming in, in all threads; set by whoever knows. */
  underWay: () => { readonly requests: number; readonly bytes: number } = () => ({ requests: 0, bytes: 0 })
  /** Small gets, getNexts and scans, and the dispatches that they shared. */
  smallReads = 0
  sharedDispatches = 0
  /** Writes, and the log records that they shared. */
  loggedWrites = 0
  logRecords = 0
  loggedBytes = 0

  /** Told of errors that are nobody's fault but the server's. */
  readonly onInternal: (error: WarpdexError) => void

  constructor(onInternal: (error: WarpdexError) => void = () => {}) {
    this.onInternal = onInternal
  }

  /** What was counted of requests since the last call; undefined where that is nothing. */
  take(): MeterCounts | undefined {
    if (this.requests === 0) return undefined
    const counters = recordOf(REQUEST_COUNTERS, (counter) => this[counter])
    for (const counter of REQUEST_COUNTERS) this[counter] = 0
    const ops = Object.values(this.ops).filter(({ latency }) => latency.count > 0)
    const outcomes = ops.map(({ op, outcomes }) => [op, { ...outcomes }] as const)
    for (const { outcomes } of ops) for (const outcome of OUTCOMES) outcomes[outcome] = 0
    const histograms = this.#recorded.flatMap((recorded, place) =>
      recorded.count === 0 ? [] : [[place, recorded.take()] as const],
    )
    return { counters, outcomes, histograms }
  }

  /** Adds what another thread has counted. */
  add({ counters, outcomes, histograms }: MeterCounts): void {
    for (const counter of REQUEST_COUNTERS) this[counter] += counters[counter]
    for (const [op, counts] of outcomes) {
      for (const outcome of OUTCOMES) this.ops[op].outcomes[outcome] += counts[outcome]
    }
    for (const [place, recorded] of histograms) this.#recorded[place].add(recorded)
  }

  /**
   * A reply is ready to be sent.
   * @returns how long that took, in milliseconds
   */
  answered({ request, error, decodeMilliseconds, since, ran, bytesIn, bytesOut }: RequestOutcome): number {
    const now = performance.now()
    const microseconds = (now - since) * 1000
    const isSampled = (this.requests++ & (SAMPLING - 1)) === 0
    this.bytesIn += bytesIn
    this.bytesOut += bytesOut
    if (isSampled && request !== undefined) this.stages.decode.record(decodeMilliseconds * 1000)
    if (isSampled && ran > 0) this.stages.reply.record((now - ran) * 1000)
    const { kind, outcomes, latency, items } = this.ops[request?.op ?? 'unknown']
    outcomes[error?.code ?? 'OK']++
    latency.record(microseconds)
    if (kind !== undefined) this.latest[kind].record(microseconds)
    if (error !== undefined) {
      this.failures++
      if (error.code === 'INTERNAL') this.onInternal(error)
    } else if (kind !== undefined && request !== undefined) {
      const count = 'handle' in request ? request.count : 0
      items.record(count)
      this.items += count
    }
    return now - since
  }

  waited(milliseconds: number): void {
    this.stages.queue.record(milliseconds * 1000)
  }

  dispatched(reads: number, milliseconds: number): void {
    this.smallReads += reads
    this.sharedDispatches++
    this.stages.coalesce.record(milliseconds * 1000)
  }

  computed(milliseconds: number): void {
    this.stages.device.record(milliseconds * 1000)
  }

  logged(writes: number, bytes: number, milliseconds: number): void {
    this.loggedWrites += writes
    this.logRecords++
    this.loggedBytes += bytes
    this.stages.log.record(milliseconds * 1000)
  }

  happened(event: EngineEvent): void {
    this.events[event]++
  }
}
