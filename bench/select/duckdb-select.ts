import { cpus } from 'node:os'
import { median } from '../report.js'

/** Questions of which the median counts, after one that warms up. */
const REPEATS = 3

/** `scattered` of bench/keys.ts in SQL. */
const SCATTERED = `CREATE MACRO mixed(h, shift) AS xor(h, h >> shift);
CREATE MACRO scattered(i) AS mixed((mixed((mixed(i, 16) * 2246822507) & 4294967295, 13) * 3266489909) & 4294967295, 16)`

/** What a question takes in DuckDB, and how many rows it selects. */
export interface DuckAnswer {
  readonly ms: number
  readonly count: number
}

/** The table of `randomTable` in DuckDB, which asks with all cores. */
export class DuckTable {
  readonly threads = cpus().length
  readonly #connection: import('@duckdb/node-api').DuckDBConnection
  readonly #close: () => void

  private constructor(connection: import('@duckdb/node-api').DuckDBConnection, close: () => void) {
    this.#connection = connection
    this.#close = close
  }

  /** @returns undefined where the package is not installed */
  static async create(rows: number, columns: number): Promise<DuckTable | undefined> {
    // Only those who have it compare with it.
    const name = '@duckdb/node-api'
    const duckdb: typeof import('@duckdb/node-api') | undefined = await import(name).catch(() => undefined)
    if (duckdb === undefined) return undefined
    const instance = await duckdb.DuckDBInstance.create(':memory:')
    const connection = await instance.connect()
    for (const statement of SCATTERED.split(';')) await connection.run(statement)
    const values = Array.from(
      { length: columns },
      (_, column) => `scattered(i::UBIGINT + ${column * rows})::UINTEGER AS c${column}`,
    )
    await connection.run(`CREATE TABLE t AS SELECT ${values.join(', ')} FROM range(${rows}) t(i)`)
    return new DuckTable(connection, () => {
      connection.closeSync()
      instance.closeSync()
    })
  }

  /** Q2 of the paper: counts the rows whose values are below the bounds. */
  async count(bounds: readonly number[]): Promise<DuckAnswer> {
    const [ms, rows] = await this.#timed(`SELECT count(*)::DOUBLE FROM t WHERE ${conditions(bounds)}`)
    return { ms, count: Number(rows[0]?.[0]) }
  }

  /** Q1: writes the last column of these rows to a table in memory. */
  async column(bounds: readonly number[]): Promise<DuckAnswer> {
    const last = bounds.length
    const [ms] = await this.#timed(
      `CREATE OR REPLACE TEMP TABLE selected AS SELECT c${last} FROM t WHERE ${conditions(bounds)}`,
    )
    const reader = await this.#connection.runAndReadAll('SELECT count(*)::DOUBLE FROM selected')
    return { ms, count: Number(reader.getRows()[0]?.[0]) }
  }

  close(): void {
    this.#close()
  }

  async #timed(sql: string) {
    const taken: number[] = []
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      const begin = performance.now()
      await this.#connection.run(sql)
      if (repeat > 0) taken.push(performance.now() - begin)
    }
    const begin = performance.now()
    const reader = await this.#connection.runAndReadAll(sql)
    taken.push(performance.now() - begin)
    return [median(taken), reader.getRows()] as const
  }
}

function conditions(bounds: readonly number[]): string {
  return bounds.map((bound, column) => `c${column} < ${bound}`).join(' AND ')
}
