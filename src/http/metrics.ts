import { readdirSync } from 'node:fs'
import type { Engine } from '../engine/engine.js'
import type { History } from '../observe/history.js'
import { type Meters, OUTCOMES, STAGES } from '../observe/meters.js'
import type { Monitor } from '../observe/monitor.js'
import type { Answer } from './answer.js'
import { engineMetrics } from './engine-metrics.js'
import {
  type Buckets,
  counters,
  EXPOSITION_TYPE,
  exposition,
  gauges,
  histogram,
  type Metric,
  type Sample,
} from './exposition.js'

/** Latencies: microseconds, from 16 µs to 8 s. */
const LATENCIES: Buckets = { powers: Array.from({ length: 20 }, (_, i) => i + 4), unit: 1e-6 }
/** Sizes of batches: 1, 4, 16 … 2^20. */
const ITEMS: Buckets = { powers: Array.from({ length: 11 }, (_, i) => 2 * i), unit: 1 }

export interface MetricsSource {
  readonly monitor: Monitor
  /** Undefined until it is open. */
  readonly engine: () => Engine | undefined
}

/** `/metrics`. */
export function metricsAnswer({ monitor: { meters, history }, engine }: MetricsSource): Answer {
  const metrics = [
    ...requestMetrics(meters),
    ...trafficMetrics(meters),
    ...loopDelay(history),
    ...engineMetrics(engine()),
    ...processMetrics(),
  ]
  return { status: 200, type: EXPOSITION_TYPE, body: exposition(metrics) }
}

/** Without series of what never was. */
function positive(samples: readonly Sample[]): readonly Sample[] {
  return samples.filter(([value]) => value > 0)
}

/** All that is counted of requests. */
function requestMetrics({ ops: byOp, stages }: Meters): Metric[] {
  const ops = Object.values(byOp)
  const outcomes = ops.flatMap(({ op, outcomes }) =>
    OUTCOMES.map((code): Sample => [outcomes[code], { op, code }]),
  )
  const items = ops.map(({ op, items }): Sample => [items.sum, { op }])
  return [
    ...counters({
      requests: ['Requests that were answered, by operation and result code.', positive(outcomes)],
      keys: ['Keys, or ranges of scans, of requests that were carried out, by operation.', positive(items)],
    }),
    histogram(
      'warpdex_request_keys',
      'Keys, or ranges of scans, of a request that was carried out, by operation.',
      ITEMS,
      ops.map(({ op, items }) => [items, { op }]),
    ),
    histogram(
      'warpdex_request_seconds',
      'Time from the arrival of a request to the departure of its reply, by operation.',
      LATENCIES,
      ops.map(({ op, latency }) => [latency, { op }]),
    ),
    histogram(
      'warpdex_stage_seconds',
      'Time of the stages of requests; decode and reply are taken of every sixteenth request.',
      LATENCIES,
      STAGES.map((stage) => [stages[stage], { stage }]),
    ),
  ]
}

/** What is counted beside single requests. */
function trafficMetrics(meters: Meters): Metric[] {
  const { requests, bytes } = meters.underWay()
  const events = Object.entries(meters.events).map(([event, value]): Sample => [value, { event }])
  return [
    ...counters({
      received_bytes: ['Bytes of requests that came.', meters.bytesIn],
      sent_bytes: ['Bytes of replies.', meters.bytesOut],
      connections_opened: ['WebSockets that were let in.', meters.connectionsOpened],
      connections_refused: ['WebSockets that were not let in.', meters.connectionsRefused],
      slow_consumers: ['Connections closed because replies were not read.', meters.slowConsumers],
      small_reads: ['Small gets, getNexts and scans, which may share dispatches.', meters.smallReads],
      shared_dispatches: ['Dispatches that answered them.', meters.sharedDispatches],
      logged_writes: ['Writes that were logged.', meters.loggedWrites],
      log_records: ['Log records that they went into.', meters.logRecords],
      logged_bytes: ['Bytes of these records.', meters.loggedBytes],
      events: [
        'Compactions and merges, snapshots, page-outs, page-ins, losses of a device, and kept results that expired (expiry).',
        positive(events),
      ],
    }),
    ...gauges({
      connections: ['Open WebSockets.', meters.connections],
      requests_in_flight: ['Requests that are not answered yet.', requests],
      bytes_in_flight: ['Bytes of these requests, and of those that are coming in.', bytes],
    }),
  ]
}

/** Seconds of which the worst delay of the event loop is shown: more than lies between two scrapes. */
const DELAY_SECONDS = 60

function loopDelay({ columns }: History): Metric[] {
  const worst = (figure: string, delays: readonly number[]): Sample => [
    Math.max(0, ...delays.slice(-DELAY_SECONDS)) / 1e6,
    { figure },
  ]
  const help = 'How late timers of the event loop were within a second: the worst second of the last minute.'
  const { loopP50, loopP99, loopMax } = columns
  const delays = [worst('p50', loopP50), worst('p99', loopP99), worst('max', loopMax)]
  return gauges({ event_loop_delay_seconds: [help, delays] })
}

const STARTED_AT = Date.now() / 1000 - process.uptime()

/** What the process takes, under the names that exporters of Prometheus have for it. */
function processMetrics(): Metric[] {
  const { user, system } = process.cpuUsage()
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
  const times = {
    cpu_user_seconds: ['Processor time in user mode.', user / 1e6],
    cpu_system_seconds: ['Processor time in the kernel.', system / 1e6],
  } as const
  const state = {
    process_start_time_seconds: ['When the process was started.', STARTED_AT],
    process_resident_memory_bytes: ['Memory of the process.', rss],
    nodejs_heap_size_total_bytes: ['Heap of JavaScript.', heapTotal],
    nodejs_heap_size_used_bytes: ['What of it is in use.', heapUsed],
    nodejs_external_memory_bytes: ['Memory of objects beside the heap, such as buffers.', external],
    process_open_fds: ['Open files and sockets; 0 where that cannot be known.', openFiles()],
  } as const
  return [...counters(times, 'process_'), ...gauges(state, '')]
}

function openFiles(): number {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return 0
  }
}
