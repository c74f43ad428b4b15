import { readdirSync } from 'node:fs'
import type { Engine } from '../engine/engine.js'
import type { History } from '../observe/history.js'
import { type Meters, OUTCOMES, STAGES } from '../observe/meters.js'
import type { Monitor } from '../observe/monitor.js'
import { engineMetrics } from './engine-metrics.js'
import {
  type Buckets,
  counter,
  EXPOSITION_TYPE,
  exposition,
  gauge,
  histogram,
  type Metric,
  type Sample,
} from './exposition.js'
import type { Route } from './site.js'

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
export function metricsRoute({ monitor: { meters, history }, engine }: MetricsSource): Route {
  return {
    guarded: true,
    answer: () => {
      const body = exposition([
        ...requestMetrics(meters),
        ...trafficMetrics(meters),
        loopDelay(history),
        ...engineMetrics(engine()),
        ...processMetrics(),
      ])
      return { status: 200, type: EXPOSITION_TYPE, body }
    },
  }
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
  return [
    counter(
      'warpdex_requests_total',
      'Requests that were answered, by operation and result code.',
      positive(outcomes),
    ),
    counter(
      'warpdex_keys_total',
      'Keys, or ranges of scans, of requests that were carried out, by operation.',
      positive(ops.map(({ op, items }) => [items.sum, { op }])),
    ),
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
  const underWay = meters.underWay()
  const count = (name: string, help: string, value: number) => counter(`warpdex_${name}_total`, help, value)
  return [
    count('received_bytes', 'Bytes of requests that came.', meters.bytesIn),
    count('sent_bytes', 'Bytes of replies.', meters.bytesOut),
    count('connections_opened', 'WebSockets that were let in.', meters.connectionsOpened),
    count('connections_refused', 'WebSockets that were not let in.', meters.connectionsRefused),
    count('slow_consumers', 'Connections closed because replies were not read.', meters.slowConsumers),
    count('coalesced_gets', 'Small gets, which may share dispatches.', meters.coalescedGets),
    count('shared_dispatches', 'Dispatches that answered them.', meters.sharedDispatches),
    count('logged_writes', 'Writes that were logged.', meters.loggedWrites),
    count('log_records', 'Log records that they went into.', meters.logRecords),
    count('logged_bytes', 'Bytes of these records.', meters.loggedBytes),
    counter(
      'warpdex_events_total',
      'Compactions and merges, snapshots, page-outs, page-ins, losses of a device, and kept results that expired (expiry).',
      positive(Object.entries(meters.events).map(([event, value]) => [value, { event }])),
    ),
    gauge('warpdex_connections', 'Open WebSockets.', meters.connections),
    gauge('warpdex_requests_in_flight', 'Requests that are not answered yet.', underWay.requests),
    gauge(
      'warpdex_bytes_in_flight',
      'Bytes of these requests, and of those that are coming in.',
      underWay.bytes,
    ),
  ]
}

/** Seconds of which the worst delay of the event loop is shown: more than lies between two scrapes. */
const DELAY_SECONDS = 60

function loopDelay({ columns }: History): Metric {
  const worst = (delays: readonly number[]) => Math.max(0, ...delays.slice(-DELAY_SECONDS)) / 1e6
  return gauge(
    'warpdex_event_loop_delay_seconds',
    'How late timers of the event loop were within a second: the worst second of the last minute.',
    [
      [worst(columns.loopP50), { figure: 'p50' }],
      [worst(columns.loopP99), { figure: 'p99' }],
      [worst(columns.loopMax), { figure: 'max' }],
    ],
  )
}

const STARTED_AT = Date.now() / 1000 - process.uptime()

/** What the process takes, under the names that exporters of Prometheus have for it. */
function processMetrics(): Metric[] {
  const { user, system } = process.cpuUsage()
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
  return [
    counter('process_cpu_user_seconds_total', 'Processor time in user mode.', user / 1e6),
    counter('process_cpu_system_seconds_total', 'Processor time in the kernel.', system / 1e6),
    gauge('process_start_time_seconds', 'When the process was started.', STARTED_AT),
    gauge('process_resident_memory_bytes', 'Memory of the process.', rss),
    gauge('nodejs_heap_size_total_bytes', 'Heap of JavaScript.', heapTotal),
    gauge('nodejs_heap_size_used_bytes', 'What of it is in use.', heapUsed),
    gauge('nodejs_external_memory_bytes', 'Memory of objects beside the heap, such as buffers.', external),
    gauge('process_open_fds', 'Open files and sockets; 0 where that cannot be known.', openFiles()),
  ]
}

function openFiles(): number {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return 0
  }
}
