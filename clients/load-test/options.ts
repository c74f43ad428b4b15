import { badRequest } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { PayloadKind } from '../../protocol/types.js'
import type { Arrivals } from './arrivals.js'
import type { Distribution } from './distributions.js'
import type { TestKeyType } from './key-space.js'
import type { WorkloadName } from './workloads.js'

/** All that settles a load test: plain values, which child processes get as they are. */
export interface LoadTestOptions {
  readonly workload: WorkloadName
  /** Where the server is: `ws:`, `wss:`, or `redis:` and `rediss:` for a Redis server. */
  readonly url: string
  /** What a warpdex server demands to be told. */
  readonly token: string | undefined
  readonly index: string
  readonly keyType: TestKeyType
  readonly payloadKind: PayloadKind
  /** Bytes of a payload of kind `bytes`. */
  readonly payloadBytes: number
  /** Items of the data set. */
  readonly records: number
  readonly distribution: Distribution
  /** Items of a request. */
  readonly batch: number
  /** Entries of a scan, or a walk: from 1 to this many, uniformly. */
  readonly scanLength: number
  readonly processes: number
  /** Of each process. */
  readonly connections: number
  /** Requests of a connection that are under way at most. */
  readonly depth: number
  /** Requests a second over all processes, which come by a schedule; undefined where each waits for the one before it. */
  readonly rate: number | undefined
  readonly arrivals: Arrivals
  /** Seconds before anything is measured. */
  readonly warmUp: number
  /** Seconds that are measured, unless `operations` says when to stop. */
  readonly seconds: number
  /** Items to ask for in all, in whole batches. */
  readonly operations: number | undefined
  readonly seed: number
  readonly verify: boolean
  /** Whether the data set is loaded into a new index; else it is there. */
  readonly load: boolean
  /** Whether it is left there. */
  readonly keep: boolean
  /** Items that are drawn before anything is measured, and taken again and again; 0 draws fresh ones for every request. */
  readonly prepared: number
}

/** Item numbers have 32 bits, and there must be some left for inserts. */
const MOST_RECORDS = 2 ** 31

/** @throws WarpdexError `BAD_REQUEST` for options that do not fit together */
export function checkOptions(options: LoadTestOptions): void {
  const whole: readonly (readonly [string, number, number, number])[] = [
    ['--records', options.records, options.workload === 'ingest' ? 0 : 1, MOST_RECORDS],
    ['--batch', options.batch, 1, LIMITS.batchItems],
    ['--depth', options.depth, 1, 4096],
    ['--connections', options.connections, 1, LIMITS.connections],
    ['--processes', options.processes, 1, 256],
    ['--scan-length', options.scanLength, 1, LIMITS.scanEntries],
    ['--payload-bytes', options.payloadBytes, 8, LIMITS.payloadBytes],
    ['--seed', options.seed, 0, 2 ** 32 - 1],
    ['--prepared', options.prepared, 0, 2 ** 28],
    ['--operations', options.operations ?? 1, 1, Number.MAX_SAFE_INTEGER],
  ]
  for (const [name, value, least, most] of whole) {
    if (Number.isInteger(value) && value >= least && value <= most) continue
    throw badRequest(`${name} is ${value}; it must be a whole number from ${least} to ${most}`)
  }
  const positive: readonly (readonly [string, number, boolean])[] = [
    ['--duration', options.seconds, false],
    ['--warm-up', options.warmUp, true],
    ['--rate', options.rate ?? 1, false],
  ]
  for (const [name, value, zero] of positive) {
    if (Number.isFinite(value) && (zero ? value >= 0 : value > 0)) continue
    throw badRequest(`${name} is ${value}; it must be a number ${zero ? 'from' : 'above'} 0`)
  }
  if (options.prepared > 0 && options.prepared < options.batch) {
    throw badRequest(`--prepared is ${options.prepared}; it must be 0 or at least a batch, ${options.batch}`)
  }
}

/** Whether the server is a Redis server. */
export function isRedis({ url }: { readonly url: string }): boolean {
  return /^rediss?:/.test(url)
}
