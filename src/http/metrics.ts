import { Counter, type CounterConfiguration, Gauge, type Registry } from 'prom-client'
import type { History } from '../observe/history.js'
import { type Meters, OUTCOMES, STAGES } from '../observe/meters.js'
import { RecordedHistogram } from './recorded-histogram.js'

/** Microseconds at which buckets of latencies end: from 16 µs to 8 s. */
const LATENCY_POWERS = Array.from({ length: 20 }, (_, i) => i + 4)
/** Keys at which buckets of batch sizes end: 1, 4, 16 … 2^20. */
const ITEM_POWERS = Array.from({ length: 11 }, (_, i) => 2 * i)

/** A metric of which the value is known when it is asked for. */
export function gauge(registry: Registry, name: string, help: string, value: () => number): void {
  registry.registerMetric(
    new Gauge({
      name,
      help,
      registers: [],
      collect() {
        this.set(value())
      },
    }),
  )
}

/** A counter that is kept elsewhere. */
export function counter(registry: Registry, name: string, help: string, value: () => number): void {
  registry.registerMetric(
    new Counter({
      name,
      help,
      registers: [],
      collect() {
        this.reset()
        this.inc(value())
      },
    }),
  )
}

type Series<T extends string> = readonly (readonly [labels: Record<T, string>, value: number])[]

/** Counters that are kept elsewhere, one a combination of labels; those that are 0 are left out. */
function counters<T extends string>(
  registry: Registry,
  { name, help, labelNames }: Pick<CounterConfiguration<T>, 'name' | 'help' | 'labelNames'>,
  series: () => Series<T>,
): void {
  const metric = new Counter<T>({
    name,
    help,
    ...(labelNames === undefined ? {} : { labelNames }),
    registers: [],
    collect() {
      this.reset()
      for (const [labels, value] of series()) if (value > 0) this.inc(labels, value)
    },
  })
  registry.registerMetric(metric)
}

/** Enters all that is counted of requests. */
export function requestMetrics(registry: Registry, meters: Meters): void {
  const ops = [...meters.ops.values()]
  counters(
    registry,
    {
      name: 'warpdex_requests_total',
      help: 'Requests that were answered, by operation and result code.',
      labelNames: ['op', 'code'],
    },
    () => ops.flatMap(({ op, outcomes }) => OUTCOMES.map((code, i) => [{ op, code }, outcomes[i]] as const)),
  )
  counters(
    registry,
    {
      name: 'warpdex_keys_total',
      help: 'Keys, or ranges of scans, of requests that were carried out, by operation.',
      labelNames: ['op'],
    },
    () => ops.map(({ op, items }) => [{ op }, items.sum] as const),
  )
  registry.registerMetric(
    new RecordedHistogram({
      name: 'warpdex_request_keys',
      help: 'Keys, or ranges of scans, of a request that was carried out, by operation.',
      labelNames: ['op'],
      powers: ITEM_POWERS,
      unit: 1,
      series: () => ops.map(({ op, items }) => ({ labels: { op }, histogram: items })),
    }),
  )
  registry.registerMetric(
    new RecordedHistogram({
      name: 'warpdex_request_seconds',
      help: 'Time from the arrival of a request to the departure of its reply, by operation.',
      labelNames: ['op'],
      powers: LATENCY_POWERS,
      unit: 1e-6,
      series: () => ops.map(({ op, latency }) => ({ labels: { op }, histogram: latency })),
    }),
  )
  registry.registerMetric(
    new RecordedHistogram({
      name: 'warpdex_stage_seconds',
      help: 'Time of the stages of requests; decode and reply are taken of every sixteenth request.',
      labelNames: ['stage'],
      powers: LATENCY_POWERS,
      unit: 1e-6,
      series: () => STAGES.map((stage) => ({ labels: { stage }, histogram: meters.stages[stage] })),
    }),
  )
}

/** Enters what is counted beside single requests. */
export function trafficMetrics(registry: Registry, meters: Meters): void {
  const count = (name: string, help: string, value: () => number) =>
    counter(registry, `warpdex_${name}_total`, help, value)
  const show = (name: string, help: string, value: () => number) =>
    gauge(registry, `warpdex_${name}`, help, value)
  count('received_bytes', 'Bytes of requests that came.', () => meters.bytesIn)
  count('sent_bytes', 'Bytes of replies.', () => meters.bytesOut)
  count('connections_opened', 'WebSockets that were let in.', () => meters.connectionsOpened)
  count('connections_refused', 'WebSockets that were not let in.', () => meters.connectionsRefused)
  count('slow_consumers', 'Connections closed because replies were not read.', () => meters.slowConsumers)
  count('coalesced_gets', 'Small gets, which may share dispatches.', () => meters.coalescedGets)
  count('shared_dispatches', 'Dispatches that answered them.', () => meters.sharedDispatches)
  count('logged_writes', 'Writes that were logged.', () => meters.loggedWrites)
  count('log_records', 'Log records that they went into.', () => meters.logRecords)
  count('logged_bytes', 'Bytes of these records.', () => meters.loggedBytes)
  counters(
    registry,
    {
      name: 'warpdex_events_total',
      help: 'Compactions and merges, snapshots, page-outs, page-ins, losses of a device, and kept results that expired (expiry).',
      labelNames: ['event'],
    },
    () => Object.entries(meters.events).map(([event, value]) => [{ event }, value] as const),
  )
  show('connections', 'Open WebSockets.', () => meters.connections)
  show('requests_in_flight', 'Requests that are not answered yet.', () => meters.underWay().requests)
  show(
    'bytes_in_flight',
    'Bytes of these requests, and of those that are coming in.',
    () => meters.underWay().bytes,
  )
}

/** Seconds of which the worst delay of the event loop is shown: more than lies between two scrapes. */
const DELAY_SECONDS = 60

/** Enters the delay of the event loop. */
export function historyMetrics(registry: Registry, history: History): void {
  const figures = [
    ['p50', 'loopP50'],
    ['p99', 'loopP99'],
    ['max', 'loopMax'],
  ] as const
  registry.registerMetric(
    new Gauge({
      name: 'warpdex_event_loop_delay_seconds',
      help: 'How late timers of the event loop were within a second: the worst second of the last minute.',
      labelNames: ['figure'],
      registers: [],
      collect() {
        const samples = history.samples.slice(-DELAY_SECONDS)
        for (const [figure, key] of figures) {
          this.set({ figure }, Math.max(0, ...samples.map((sample) => sample[key])) / 1e6)
        }
      },
    }),
  )
}
