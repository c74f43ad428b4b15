import { cpus, totalmem } from 'node:os'
import type { Verification } from './checker.js'
import type { DriverResult } from './driver.js'
import { type LatencyFigures, latencyCurve, latencyFigures, mergedHistogram } from './histogram.js'
import type { LoadTestOptions } from './options.js'
import type { IntervalPart } from './recorder.js'
import type { ServerFacts } from './target.js'
import { OPERATIONS, type Operation } from './workloads.js'

/** Figures of all requests, or of one kind. */
export interface OperationFigures {
  readonly requests: number
  /** Keys that they asked for or wrote; of scans, how many ranges. */
  readonly items: number
  readonly requestsPerSecond: number
  readonly itemsPerSecond: number
  /** Milliseconds. */
  readonly latency: LatencyFigures
  readonly curve: readonly { readonly percentile: number; readonly ms: number }[]
}

/** What happened in one interval of the measurement, over all processes. */
export interface IntervalFigures {
  /** Seconds from the start to its end. */
  readonly seconds: number
  readonly requestsPerSecond: number
  readonly itemsPerSecond: number
  readonly p50: number
  readonly p99: number
  readonly max: number
  readonly errors: number
}

/** All that a load test has to say. */
export interface LoadTestReport {
  readonly program: string
  /** When the measurement began, in ISO 8601. */
  readonly time: string
  readonly setup: Omit<LoadTestOptions, 'token'>
  readonly server: ServerFacts
  readonly client: {
    readonly node: string
    readonly platform: string
    readonly processor: string
    readonly cores: number
    readonly memoryBytes: number
  }
  /** How the data set was loaded; null where it was there. */
  readonly load: { readonly records: number; readonly seconds: number; readonly perSecond: number } | null
  /** Seconds that were measured, to the last answer. */
  readonly seconds: number
  /** Whether it was stopped before its time. */
  readonly interrupted: boolean
  readonly total: OperationFigures
  readonly operations: Readonly<Partial<Record<Operation, OperationFigures>>>
  readonly intervals: readonly IntervalFigures[]
  /** Requests that failed, by their errors' codes. */
  readonly errors: Readonly<Record<string, number>>
  /** Inserted items that were there already. */
  readonly existing: number
  /** Of an open loop. */
  readonly openLoop: {
    readonly requestsPerSecond: number
    /** Requests that were due and could not be sent before the end, since all lanes waited for answers. */
    readonly unsent: number
    /** How late requests were sent though a lane was free, in milliseconds: what the driver itself adds. */
    readonly lateness: LatencyFigures
  } | null
  readonly verification: Verification | null
}

/** What is known about a load test besides what was measured. */
export type ReportFrame = Pick<LoadTestReport, 'time' | 'server' | 'load' | 'interrupted'> & {
  readonly version: string
  readonly options: LoadTestOptions
}

/**
 * @param interval milliseconds
 */
export function makeReport(
  { version, options, ...frame }: ReportFrame,
  results: readonly DriverResult[],
  parts: readonly IntervalPart[],
  interval: number,
): LoadTestReport {
  const { token: _token, ...setup } = options
  const seconds = Math.max(...results.map(({ milliseconds }) => milliseconds)) / 1000
  const operations: Partial<Record<Operation, OperationFigures>> = {}
  for (const operation of OPERATIONS) {
    const of = results.flatMap((result) => result.operations[operation] ?? [])
    if (of.length > 0) operations[operation] = operationFigures(of, seconds)
  }
  const all = results.flatMap((result) => Object.values(result.operations))
  return {
    program: `warpdex-loadtest ${version}`,
    ...frame,
    setup: { ...setup, url: setup.url.replace(/\/\/[^/@]*@/, '//') },
    client: clientFacts(),
    seconds,
    total: operationFigures(all, seconds),
    operations,
    intervals: intervalFigures(parts, interval, seconds),
    errors: sums(results.map(({ errors }) => errors)),
    existing: results.reduce((sum, { existing }) => sum + existing, 0),
    openLoop:
      options.rate === undefined
        ? null
        : {
            requestsPerSecond: options.rate,
            unsent: results.reduce((sum, { unsent }) => sum + unsent, 0),
            lateness: latencyFigures(mergedHistogram(results.map(({ lateness }) => lateness))),
          },
    verification: options.verify ? verificationOf(results) : null,
  }
}

/** Whether something went wrong that a load test is to find. */
export function hasFailed({ errors, verification }: LoadTestReport): boolean {
  return Object.keys(errors).length > 0 || (verification !== null && verification.failures > 0)
}

interface Counted {
  readonly requests: number
  readonly items: number
  readonly histogram: string
}

function operationFigures(parts: readonly Counted[], seconds: number): OperationFigures {
  const requests = parts.reduce((sum, part) => sum + part.requests, 0)
  const items = parts.reduce((sum, part) => sum + part.items, 0)
  const histogram = mergedHistogram(parts.map((part) => part.histogram))
  const rate = (count: number) => (seconds === 0 ? 0 : count / seconds)
  return {
    requests,
    items,
    requestsPerSecond: rate(requests),
    itemsPerSecond: rate(items),
    latency: latencyFigures(histogram),
    curve: latencyCurve(histogram),
  }
}

/** Intervals of all processes, also those in which nothing was answered. */
function intervalFigures(
  parts: readonly IntervalPart[],
  interval: number,
  seconds: number,
): IntervalFigures[] {
  const count = Math.max(0, Math.ceil((1000 * seconds) / interval))
  const groups = Array.from({ length: count }, (): IntervalPart[] => [])
  for (const part of parts) groups[part.number]?.push(part)
  return groups.map((group, number) => {
    const end = Math.min(seconds, ((number + 1) * interval) / 1000)
    return oneInterval(group, end, end - (number * interval) / 1000)
  })
}

/** @param length seconds */
export function oneInterval(parts: readonly IntervalPart[], end: number, length: number): IntervalFigures {
  const sum = (of: (part: IntervalPart) => number) => parts.reduce((total, part) => total + of(part), 0)
  const { p50, p99, max } = latencyFigures(mergedHistogram(parts.map(({ histogram }) => histogram)))
  return {
    seconds: end,
    requestsPerSecond: sum(({ requests }) => requests) / length,
    itemsPerSecond: sum(({ items }) => items) / length,
    p50,
    p99,
    max,
    errors: sum(({ errors }) => errors),
  }
}

function sums(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const total: Record<string, number> = {}
  for (const each of counts) {
    for (const [code, count] of Object.entries(each)) total[code] = (total[code] ?? 0) + count
  }
  return total
}

function verificationOf(results: readonly DriverResult[]): Verification {
  const parts = results.flatMap(({ verification }) => verification ?? [])
  return {
    checked: parts.reduce((sum, { checked }) => sum + checked, 0),
    failures: parts.reduce((sum, { failures }) => sum + failures, 0),
    examples: parts.flatMap(({ examples }) => examples),
  }
}

function clientFacts(): LoadTestReport['client'] {
  const processors = cpus()
  return {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    processor: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    memoryBytes: totalmem(),
  }
}
