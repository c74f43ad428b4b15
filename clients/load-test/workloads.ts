import type { Distribution } from './distributions.js'

/** Kinds of requests, in the order of tables. */
export const OPERATIONS = ['read', 'update', 'insert', 'scan', 'walk', 'readModifyWrite'] as const
export type Operation = (typeof OPERATIONS)[number]

/** What a workload consists of, and what its options are where they are not given. */
export interface Workload {
  /** What it is, in a line. */
  readonly description: string
  /** Share of each kind of request; together they are 1. */
  readonly shares: Readonly<Partial<Record<Operation, number>>>
  readonly distribution: Distribution
  /** Items of the data set. */
  readonly records: number
  /** Items of a request. */
  readonly batch: number
  /** Requests of a connection that are under way. */
  readonly depth: number
  /** Entries of a scan, or a walk, at most. */
  readonly scanLength: number
}

const YCSB = { distribution: 'zipfian', records: 1_000_000, batch: 1, depth: 16, scanLength: 100 } as const
const BATCHES = {
  distribution: 'uniform',
  records: 1_000_000,
  batch: 10_000,
  depth: 8,
  scanLength: 100,
} as const

/** YCSB's core workloads (Cooper et al., Benchmarking Cloud Serving Systems with YCSB, 2010, Table 2), and batches. */
export const WORKLOADS = {
  a: { ...YCSB, description: 'YCSB A: reads 50 %, updates 50 %', shares: { read: 0.5, update: 0.5 } },
  b: { ...YCSB, description: 'YCSB B: reads 95 %, updates 5 %', shares: { read: 0.95, update: 0.05 } },
  c: { ...YCSB, description: 'YCSB C: reads', shares: { read: 1 } },
  d: {
    ...YCSB,
    description: 'YCSB D: reads of the latest 95 %, inserts 5 %',
    shares: { read: 0.95, insert: 0.05 },
    distribution: 'latest',
  },
  e: { ...YCSB, description: 'YCSB E: short scans 95 %, inserts 5 %', shares: { scan: 0.95, insert: 0.05 } },
  f: {
    ...YCSB,
    description: 'YCSB F: reads 50 %, read-modify-writes 50 %',
    shares: { read: 0.5, readModifyWrite: 0.5 },
  },
  lookup: { ...BATCHES, description: 'batches of reads', shares: { read: 1 } },
  scan: { ...BATCHES, description: 'batches of short scans', shares: { scan: 1 }, batch: 100 },
  walk: {
    ...YCSB,
    description: 'short walks by get and getNext 95 %, inserts 5 %',
    shares: { walk: 0.95, insert: 0.05 },
    scanLength: 10,
  },
  ingest: { ...BATCHES, description: 'batches of inserts', shares: { insert: 1 }, records: 0, depth: 4 },
  mixed: {
    ...BATCHES,
    description: 'batches: reads 70 %, updates, inserts and scans 10 % each',
    shares: { read: 0.7, update: 0.1, insert: 0.1, scan: 0.1 },
    batch: 1000,
  },
} as const satisfies Readonly<Record<string, Workload>>

export type WorkloadName = keyof typeof WORKLOADS

export const WORKLOAD_NAMES = Object.keys(WORKLOADS) as readonly WorkloadName[]

export function workload(name: WorkloadName): Workload {
  return WORKLOADS[name]
}

/** Whether a workload has requests of a kind. */
export function has({ shares }: Workload, operation: Operation): boolean {
  return (shares[operation] ?? 0) > 0
}
