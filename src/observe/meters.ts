import { DATA_OPS } from '../../protocol/data-request.js'
import { ERROR_CODES, type WarpdexError } from '../../protocol/errors.js'
import { CONTROL_OPS, type Op, type Request } from '../../protocol/messages.js'
import { type HistogramData, LogHistogram } from './log-histogram.js'
import {
  ENGINE_EVENTS,
  type EngineEvent,
  type EngineMeter,
  type RequestMeter,
  type ServerMeter,
} from './meter.js'

/** Operations, and what could not be read as one. */
const METERED_OPS = [...CONTROL_OPS, ...DATA_OPS, 'unknown'] as const
export type MeteredOp = Op | 'unknown'

export const OUTCOMES = ['OK', ...ERROR_CODES] as const

/** Stages of a request's way. Those of decoding and replying are taken of every sixteenth request, lest they cost too much. */
export const STAGES = ['decode', 'queue', 'coalesce', 'device', 'log', 'reply'] as const
export type Stage = (typeof STAGES)[number]

/** Requests of which one has its stages measured. A power of two. */
const SAMPLING = 16

const OUTCOME_NUMBERS = new Map<string, number>(OUTCOMES.map((outcome, i) => [outcome, i]))
const OPS_OF_READS: ReadonlySet<MeteredOp> = new Set([
  'get',
  'getAll',
  'count',
  'scan',
  'getNext',
  'explain',
  'query',
  'queryNext',
])
const OPS_OF_WRITES: ReadonlySet<MeteredOp> = new Set(['insert', 'delete', 'write', 'load'])

/** Counters of requests, as far as they are counted where sockets are. */
const REQUEST_COUNTERS = ['requests', 'failures', 'items', 'bytesIn', 'bytesOut', 'slowConsumers'] as const

/** What was counted in another thread since it last said so. */
export interface MeterCounts {
  readonly counters: Readonly<Record<(typeof REQUEST_COUNTERS)[number], number>>
  /** Of operations of which there were requests. */
  readonly outcomes: readonly (readonly [op: MeteredOp, counts: Float64Array])[]
  /** In which something was recorded, by their places among those that are recorded where sockets are. */
  readonly histograms: readonly (readonly [place: number, recorded: HistogramData])[]
}

/** A value for each key. */
export function recordOf<K extends string, V>(keys: readonly K[], make: (key: K) => V): Record<K, V> {
  // It has the keys that were given.
  return Object.fromEntries(keys.map((key) => [key, make(key)])) as Record<K, V>
}

/** What is known of the requests of one operation. */
export class OpMeter {
  readonly op: MeteredOp
  /** Which latencies of a second they count among. */
  readonly kind: 'reads' | 'writes' | undefined
  /** Requests by outcome. */
  readonly outcomes = new Float64Array(OUTCOMES.length)
  /** Microseconds from a message's arrival to its reply's departure. */
  readonly latency = new LogHistogram()
  /** Keys, or ranges, of requests that were carried out. */
  readonly items = new LogHistogram()

  constructor(op: MeteredOp) {
    this.op = op
    this.kind = OPS_OF_READS.has(op) ? 'reads' : OPS_OF_WRITES.has(op) ? 'writes' : undefined
  }
}

/** Plain counters of all that the server and the engine tell. They only grow, but for what is under way. */
export class Meters implements ServerMeter, EngineMeter {
  readonly ops: ReadonlyMap<MeteredOp, OpMeter> = new Map(METERED_OPS.map((op) => [op, new OpMeter(op)]))
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
    ...[...this.ops.values()].flatMap(({ latency, items }) => [latency, items]),
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
  /** Small gets, and the dispatches that they shared. */
  coalescedGets = 0
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
    if (this.bytesIn === 0 && this.bytesOut === 0 && this.slowConsumers === 0) return undefined
    const counters = recordOf(REQUEST_COUNTERS, (counter) => {
      const count = this[counter]
      this[counter] = 0
      return count
    })
    const ops = [...this.ops.values()].filter(({ latency }) => latency.count > 0)
    const outcomes = ops.map(({ op, outcomes }) => [op, outcomes.slice()] as const)
    for (const { outcomes } of ops) outcomes.fill(0)
    const histograms = this.#recorded.flatMap((recorded, place) =>
      recorded.count === 0 ? [] : [[place, recorded.take()] as const],
    )
    return { counters, outcomes, histograms }
  }

  /** Adds what another thread has counted. */
  add({ counters, outcomes, histograms }: MeterCounts): void {
    for (const counter of REQUEST_COUNTERS) this[counter] += counters[counter]
    for (const [op, counts] of outcomes) {
      const own = this.ops.get(op)?.outcomes
      counts.forEach((count, i) => {
        if (own !== undefined) own[i] += count
      })
    }
    for (const [place, recorded] of histograms) this.#recorded[place].add(recorded)
  }

  opened(): void {
    this.connections++
    this.connectionsOpened++
  }

  closed(): void {
    this.connections--
  }

  slowConsumer(): void {
    this.slowConsumers++
  }

  received(bytes: number): RequestMeter {
    this.bytesIn += bytes
    return new RequestCourse(this)
  }

  waited(milliseconds: number): void {
    this.stages.queue.record(milliseconds * 1000)
  }

  dispatched(gets: number, milliseconds: number): void {
    this.coalescedGets += gets
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

class RequestCourse implements RequestMeter {
  readonly #meters: Meters
  readonly #since = performance.now()
  readonly #sampled: boolean
  #request: Request | undefined
  #items = 0
  #ran = 0

  constructor(meters: Meters) {
    this.#meters = meters
    this.#sampled = (meters.requests++ & (SAMPLING - 1)) === 0
  }

  decoded(request: Request, milliseconds: number): void {
    this.#request = request
    if (this.#sampled) this.#meters.stages.decode.record(milliseconds * 1000)
  }

  ran(items: number): void {
    this.#items = items
    if (this.#sampled) this.#ran = performance.now()
  }

  answered(error: WarpdexError | undefined, bytes: number): void {
    const meters = this.#meters
    const now = performance.now()
    const microseconds = (now - this.#since) * 1000
    const op = meters.ops.get(this.#request?.op ?? 'unknown')
    if (op !== undefined) {
      op.outcomes[OUTCOME_NUMBERS.get(error?.code ?? 'OK') ?? 0]++
      op.latency.record(microseconds)
      if (op.kind !== undefined) meters.latest[op.kind].record(microseconds)
      if (error === undefined && this.#request !== undefined && op.kind !== undefined) {
        op.items.record(this.#items)
        meters.items += this.#items
      }
    }
    if (error !== undefined) {
      meters.failures++
      if (error.code === 'INTERNAL') meters.onInternal(error)
    }
    if (this.#ran > 0) meters.stages.reply.record((now - this.#ran) * 1000)
    meters.bytesOut += bytes
  }
}
