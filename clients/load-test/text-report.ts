import { grouped, table } from '../cli/output.js'
import type { LoadTestReport, OperationFigures } from './report.js'
import { OPERATIONS, workload } from './workloads.js'

/** Names of the kinds of requests, for people. */
const OPERATION_NAMES = {
  read: 'read',
  update: 'update',
  insert: 'insert',
  scan: 'scan',
  walk: 'walk by getNext',
  readModifyWrite: 'read-modify-write',
} as const

/** Heads of a table of `figureRows`. */
export const FIGURE_HEADS = [
  'latency in ms',
  'requests',
  'keys/s',
  'requests/s',
  'mean',
  'p50',
  'p90',
  'p99',
  'p99.9',
  'max',
] as const

/** A report for a terminal. */
export function reportLines(report: LoadTestReport): string[] {
  return [
    ...table(['', ''], setupRows(report)).slice(1),
    '',
    ...table(FIGURE_HEADS, figureRows(report, Object.keys(report.operations).length > 1)),
    '',
    ...outcomeLines(report),
  ]
}

/** What was measured, by name. */
export function setupRows({ setup, server, client, load, seconds, interrupted }: LoadTestReport): string[][] {
  const { batch, depth, connections, processes } = setup
  const loop =
    setup.rate === undefined
      ? 'closed loop'
      : `open loop, ${setup.rate} requests/s, ${setup.arrivals} arrivals`
  return [
    ['workload', `${setup.workload}: ${workload(setup.workload).description}`],
    ['server', `${server.kind} ${server.version} at ${setup.url}`],
    ...(server.adapter === undefined ? [] : [['adapter', server.adapter]]),
    [
      'data',
      `${grouped(setup.records)} records, ${setup.keyType} → ${payloadText(setup)}, ${setup.distribution}`,
    ],
    ...(load === null || load.records === 0
      ? []
      : [['load', `${load.seconds.toFixed(1)} s, ${grouped(load.perSecond)} records/s`]]),
    [
      'requests',
      `batches of ${grouped(batch)}, ${depth} in flight, ${connections * processes} connections, ${processes} processes, ${loop}`,
    ],
    ['seed', String(setup.seed)],
    ['client', `Node ${client.node}, ${client.platform}, ${client.cores} × ${client.processor}`],
    ['measured', `${seconds.toFixed(1)} s${interrupted ? ', stopped before its time' : ''}`],
  ]
}

function payloadText({ payloadKind, payloadBytes }: LoadTestReport['setup']): string {
  return payloadKind === 'bytes' ? `bytes of ${payloadBytes}` : payloadKind
}

/** A row for each kind of request and, where it is wanted, one for all. */
export function figureRows({ total, operations }: LoadTestReport, withAll: boolean): string[][] {
  const kinds = OPERATIONS.flatMap((operation) => {
    const figures = operations[operation]
    return figures === undefined ? [] : [figureRow(OPERATION_NAMES[operation], figures)]
  })
  return withAll ? [...kinds, figureRow('all', total)] : kinds
}

function figureRow(name: string, figures: OperationFigures): string[] {
  const { requests, itemsPerSecond, requestsPerSecond, latency } = figures
  const { mean, p50, p90, p99, p999, max } = latency
  return [
    name,
    ...[requests, itemsPerSecond, requestsPerSecond].map(grouped),
    ...[mean, p50, p90, p99, p999, max].map(milliseconds),
  ]
}

/** Milliseconds with three digits that count. */
export function milliseconds(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}

/** What went wrong, and what was checked. */
export function outcomeLines({ errors, verification, openLoop, existing }: LoadTestReport): string[] {
  const failed = Object.entries(errors).map(([code, count]) => `${grouped(count)} requests failed: ${code}`)
  return [
    ...(openLoop === null || openLoop.unsent === 0
      ? []
      : [`${grouped(openLoop.unsent)} requests were due and not sent: the server did not keep up`]),
    ...(openLoop === null
      ? []
      : [`requests were sent ${milliseconds(openLoop.lateness.p99)} ms after they were due at most (p99)`]),
    ...(existing === 0 ? [] : [`${grouped(existing)} inserted keys were there already`]),
    ...(failed.length === 0 ? ['no errors'] : failed),
    ...(verification === null
      ? ['answers were not checked (--verify)']
      : [`${grouped(verification.checked)} answers checked, ${grouped(verification.failures)} wrong`]),
    ...(verification?.examples ?? []).map((example) => `  ${example}`),
  ]
}
