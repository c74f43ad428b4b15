// The program of the process in which DuckDB plans statements, see `planner.ts`.
import { readFileSync } from 'node:fs'
import type { DuckDBConnection } from '@duckdb/node-api'
import koffi from 'koffi'
import type { MirroredRelation } from './catalogue.js'
import { Mirror } from './mirror.js'

export interface PlanJob {
  readonly text: string
  /** What statements may name from now on; undefined where that is as before. */
  readonly catalogue: readonly MirroredRelation[] | undefined
}

/** What DuckDB finds wrong, and at which character, if it says so. */
export interface PlanFault {
  readonly kind: string
  readonly message: string
  readonly position: number | undefined
}

export type PlanReply =
  | { readonly kind: 'ready' }
  /** DuckDB cannot be loaded. */
  | { readonly kind: 'missing'; readonly reason: string }
  /** `plan` is JSON, `names` are those of the result's columns. */
  | { readonly kind: 'planned'; readonly plan: string; readonly names: readonly string[] }
  | { readonly kind: 'refused'; readonly fault: PlanFault }

/** Bytes that the process may allocate beyond what it has when it is ready. */
const MOST_BYTES = 128 * 2 ** 20
/** The number of `RLIMIT_DATA` on Linux. */
const DATA_LIMIT = 2

const duckdb = await import('@duckdb/node-api').catch((error: unknown) => {
  tell({ kind: 'missing', reason: String(error).split('\n')[0]! })
})

if (duckdb !== undefined) {
  const mirror = await Mirror.create(duckdb)
  const most = limitMemory()
  let last: Promise<void> = Promise.resolve()
  process.on('message', (job: PlanJob) => {
    last = last.then(async () => {
      if (job.catalogue !== undefined) await mirror.show(job.catalogue)
      const reply = await planned(mirror.connection, job.text)
      // What is left would be too little for others: there is going to be a new process.
      const isExhausted = heldBytes() > most - MOST_BYTES / 2
      process.send?.(reply, undefined, undefined, () => isExhausted && process.exit())
    })
  })
  // Also in the middle of a plan.
  process.on('disconnect', () => process.exit())
  tell({ kind: 'ready' })
}

function tell(reply: PlanReply): void {
  process.send?.(reply)
}

/**
 * From here on what is asked for too much fails, in DuckDB or as the end of this process.
 * @returns how many bytes it may hold
 */
function limitMemory(): number {
  const most = heldBytes() + MOST_BYTES
  if (process.platform !== 'linux') return most
  const setrlimit = koffi.load(null).func('int setrlimit(int resource, uint64_t *limits)')
  setrlimit(DATA_LIMIT, BigUint64Array.of(BigInt(most), BigInt(most)))
  return most
}

/** What counts against the limit. */
function heldBytes(): number {
  if (process.platform !== 'linux') return process.memoryUsage.rss()
  const held = /^VmData:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))
  return Number(held?.[1] ?? 0) * 1024
}

async function planned(connection: DuckDBConnection, text: string): Promise<PlanReply> {
  try {
    const literal = `'${text.replaceAll("'", "''")}'`
    // The first only parses: whatever is no SELECT goes no further.
    for (const call of [
      `json_serialize_sql(${literal})`,
      `json_serialize_plan(${literal}, optimize := true)`,
    ]) {
      const reader = await connection.runAndReadAll(`select ${call}`)
      const json = String(reader.value(0, 0))
      const fault = faultIn(json)
      if (fault !== undefined) return { kind: 'refused', fault }
      if (call.startsWith('json_serialize_plan'))
        return { kind: 'planned', plan: json, names: await namesOf(connection, text) }
    }
  } catch (error) {
    return { kind: 'refused', fault: { kind: '', message: messageOf(error), position: undefined } }
  }
  return { kind: 'refused', fault: { kind: '', message: 'it has no plan', position: undefined } }
}

function faultIn(json: string): PlanFault | undefined {
  if (!json.startsWith('{"error":true')) return undefined
  const { error_type: kind, error_message: message, position } = JSON.parse(json)
  return { kind, message, position: position === undefined ? undefined : Number(position) }
}

async function namesOf(connection: DuckDBConnection, text: string): Promise<readonly string[]> {
  const prepared = await connection.prepare(text)
  try {
    return Array.from({ length: prepared.columnCount }, (_, column) => prepared.columnName(column))
  } finally {
    prepared.destroySync()
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
