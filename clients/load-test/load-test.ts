import { setTimeout } from 'node:timers/promises'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import { DataSet } from './data-set.js'
import type { DriverResult } from './driver.js'
import { KeySpace } from './key-space.js'
import { openTarget } from './open-target.js'
import { checkOptions, isRedis, type LoadTestOptions } from './options.js'
import { PayloadSpace } from './payload-space.js'
import { Processes } from './processes.js'
import type { IntervalPart } from './recorder.js'
import { type IntervalFigures, type LoadTestReport, makeReport, oneInterval } from './report.js'
import type { Target } from './target.js'
import { has, workload } from './workloads.js'

/** What happens during a load test. */
export interface LoadTestEvents {
  onLoading(stored: number, records: number): void
  onWarmUp(): void
  /** About once a second, sooner in short tests. */
  onInterval(interval: IntervalFigures): void
}

/** Milliseconds by which processes' news of an interval may come later than its end. */
const NEWS_DELAY = 150

/** Milliseconds of an interval, and of one of a test that takes a few seconds. */
const INTERVAL = 1000
const SHORT_INTERVAL = 250
const SHORT_TEST = 10

/**
 * Runs a load test: loads the data set, warms up, measures, and removes what it has stored.
 *
 * @param version of the program, for the report
 * @param stop ends it before its time: what was measured is reported
 * @throws WarpdexError `BAD_REQUEST` for options that do not fit together, `INDEX_EXISTS`, `CANCELLED` when it is stopped before
 * anything was measured, or what connecting and loading fail with
 */
export async function runLoadTest(
  options: LoadTestOptions,
  version: string,
  events: LoadTestEvents,
  stop: AbortSignal,
): Promise<LoadTestReport> {
  checkOptions(options)
  const kinds = workload(options.workload)
  if (isRedis(options) && (has(kinds, 'scan') || has(kinds, 'walk'))) {
    const { NO_SCANS } = await import('./redis-target.js')
    throw badRequest(NO_SCANS)
  }
  const payloads = new PayloadSpace(options.payloadKind, options.payloadBytes)
  const data = new DataSet(new KeySpace(options.keyType, options.seed), payloads)
  const server = await openTarget(options, payloads)
  let inserted = 0
  try {
    const facts = await server.describe()
    await (options.load ? server.create() : server.check())
    try {
      const load = options.load ? await loadDataSet(server, data, options, events, stop) : null
      const time = new Date().toISOString()
      const interval =
        options.seconds < SHORT_TEST && options.operations === undefined ? SHORT_INTERVAL : INTERVAL
      const { results, parts } = await measure(options, interval, events, stop)
      inserted = Math.max(...results.map((result) => result.inserted)) * options.processes
      const frame = { version, options, time, server: facts, load, interrupted: stop.aborted }
      return makeReport(frame, results, parts, interval)
    } finally {
      if (options.load && !options.keep) await server.remove(data.keyBatches(0, options.records + inserted))
    }
  } finally {
    server.close()
  }
}

async function loadDataSet(
  server: Target,
  data: DataSet,
  { records }: LoadTestOptions,
  events: LoadTestEvents,
  stop: AbortSignal,
): Promise<LoadTestReport['load']> {
  const start = performance.now()
  const batches = function* () {
    for (const batch of data.batches(0, records)) {
      throwIfStopped(stop)
      yield batch
    }
  }
  await server.load(batches(), (stored) => events.onLoading(stored, records))
  const seconds = (performance.now() - start) / 1000
  return { records, seconds, perSecond: records / seconds }
}

async function measure(
  options: LoadTestOptions,
  interval: number,
  events: LoadTestEvents,
  stop: AbortSignal,
): Promise<{ readonly results: DriverResult[]; readonly parts: IntervalPart[] }> {
  throwIfStopped(stop)
  events.onWarmUp()
  const processes = new Processes(options)
  const onStop = () => processes.stop()
  stop.addEventListener('abort', onStop)
  try {
    await processes.warm()
    throwIfStopped(stop)
    const parts: IntervalPart[] = []
    const announced = announce(parts, interval, events)
    const results = await processes.measure(interval, (part) => parts.push(part)).finally(announced.end)
    return { results, parts }
  } finally {
    stop.removeEventListener('abort', onStop)
    processes.kill()
  }
}

/** Tells of every interval once all processes have had the time to tell of it. */
function announce(
  parts: readonly IntervalPart[],
  interval: number,
  events: LoadTestEvents,
): { readonly end: () => void } {
  const ended = new AbortController()
  const run = async () => {
    await setTimeout(NEWS_DELAY, undefined, { signal: ended.signal })
    for (let number = 0; ; number++) {
      await setTimeout(interval, undefined, { signal: ended.signal })
      const of = parts.filter((part) => part.number === number)
      events.onInterval(oneInterval(of, ((number + 1) * interval) / 1000, interval / 1000))
    }
  }
  run().catch((error: unknown) => {
    if (!ended.signal.aborted) throw error
  })
  return { end: () => ended.abort() }
}

function throwIfStopped(stop: AbortSignal): void {
  if (stop.aborted)
    throw new WarpdexError('CANCELLED', 'the load test was stopped before it measured anything')
}
