import { openDuck } from '../../duckdb.js'
import { median } from '../../report.js'

/** Joins of which the median counts, after one that warms up. */
const REPEATS = 3

/** What DuckDB takes. */
export interface DuckTime {
  readonly ms: number
  readonly threads: number
  readonly pairs: number
}

/**
 * Joins the unique keys of `uniqueKeys` in DuckDB, by all cores, and writes the pairs of rows to a table in memory.
 * @returns undefined where the package is not installed
 */
export async function duckJoin(count: number): Promise<DuckTime | undefined> {
  const duck = await openDuck()
  if (duck === undefined) return undefined
  const { connection, threads } = duck
  const rows = `SELECT i::UINTEGER AS row, scattered(i::UBIGINT)::UINTEGER AS key FROM range(${count}) t(i)`
  await connection.run(`CREATE TABLE r AS SELECT * FROM (${rows}) ORDER BY hash(row)`)
  await connection.run(`CREATE TABLE s AS ${rows}`)
  const taken: number[] = []
  for (let repeat = 0; repeat <= REPEATS; repeat++) {
    const begin = performance.now()
    await connection.run(
      'CREATE OR REPLACE TEMP TABLE pairs AS SELECT r.row AS a, s.row AS b FROM r JOIN s ON r.key = s.key',
    )
    if (repeat > 0) taken.push(performance.now() - begin)
  }
  const reader = await connection.runAndReadAll('SELECT count(*)::INTEGER FROM pairs WHERE a = b')
  const pairs = Number(reader.getRows()[0]?.[0])
  duck.close()
  return { ms: median(taken), threads, pairs }
}
