import { type Duck, openDuck } from '../../duckdb.js'

/** Runs that count, after one that warms up. */
const REPEATS = 5

/** What DuckDB takes, by all cores: milliseconds of each run. */
export interface DuckTime {
  readonly ms: readonly number[]
  readonly threads: number
  readonly pairs: number
}

/** Keys as in workload.ts: unique ones, or left ones of which a share match nothing, or have one key. */
export interface DuckWorkload {
  /** Rows of each side, a power of two. */
  readonly count: number
  /** Rows of the left side where it has fewer. */
  readonly leftCount?: number
  /** The width of a band; equal keys unless given. */
  readonly delta?: number
  readonly selectivity?: number
  readonly duplicates?: number
}

/**
 * Joins two tables in DuckDB, and writes the pairs of rows to a table in memory.
 * @returns undefined where the package is not installed
 */
export async function duckJoin({
  count,
  leftCount = count,
  delta = 0,
  selectivity = 1,
  duplicates = 0,
}: DuckWorkload): Promise<DuckTime | undefined> {
  const duck = await openDuck()
  if (duck === undefined) return undefined
  const { connection, threads } = duck
  const matching = Math.round(count * selectivity)
  const common = Math.round(count * duplicates)
  const number = `CASE WHEN i < ${matching} THEN i ELSE i + ${count} END`
  const left = `CASE WHEN i < ${common} THEN 1 ELSE scattered((${number})::UBIGINT) END`
  const right = `CASE WHEN i = 0 AND ${common} > 0 THEN 1 ELSE scattered(i::UBIGINT) END`
  await connection.run(`CREATE TABLE r AS SELECT * FROM (${rowsOf(left, leftCount)}) ORDER BY hash(row)`)
  await connection.run(`CREATE TABLE s AS ${rowsOf(right, count)}`)
  const condition = delta === 0 ? 'r.key = s.key' : `s.key BETWEEN r.key AND r.key::UBIGINT + ${delta}`
  const join = `SELECT r.row AS a, s.row AS b FROM r JOIN s ON ${condition}`
  const ms = await timed(duck, `CREATE OR REPLACE TEMP TABLE pairs AS ${join}`)
  const pairs = await countOf(duck, 'pairs')
  duck.close()
  return { ms, threads, pairs }
}

/**
 * Sorts rows of random keys in DuckDB into a table in memory.
 * @returns undefined where the package is not installed
 */
export async function duckSort(count: number): Promise<Omit<DuckTime, 'pairs'> | undefined> {
  const duck = await openDuck()
  if (duck === undefined) return undefined
  await duck.connection.run(`CREATE TABLE r AS ${rowsOf('scattered(i::UBIGINT)', count)}`)
  const ms = await timed(duck, 'CREATE OR REPLACE TEMP TABLE sorted AS SELECT row, key FROM r ORDER BY key')
  duck.close()
  return { ms, threads: duck.threads }
}

function rowsOf(key: string, count: number): string {
  return `SELECT i::UINTEGER AS row, (${key})::UINTEGER AS key FROM range(${count}) t(i)`
}

async function timed({ connection }: Duck, statement: string): Promise<number[]> {
  const ms: number[] = []
  for (let repeat = 0; repeat <= REPEATS; repeat++) {
    const begin = performance.now()
    await connection.run(statement)
    if (repeat > 0) ms.push(performance.now() - begin)
  }
  return ms
}

async function countOf({ connection }: Duck, table: string): Promise<number> {
  const reader = await connection.runAndReadAll(`SELECT count(*)::INTEGER FROM ${table}`)
  return Number(reader.getRows()[0]?.[0])
}
