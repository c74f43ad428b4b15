import { type Duck, openDuck } from '../../duckdb.js'
import { median } from '../../report.js'

/** Questions of which the median counts, after one that warms up. */
const REPEATS = 3

/** What a question takes in DuckDB, and how many rows it selects. */
export interface DuckAnswer {
  readonly ms: number
  readonly count: number
}

/** The table of `randomTable` in DuckDB, which asks with all cores. */
export class DuckTable {
  readonly #duck: Duck

  private constructor(duck: Duck) {
    this.#duck = duck
  }

  get threads(): number {
    return this.#duck.threads
  }

  /** @returns undefined where the package is not installed */
  static async create(rows: number, columns: number): Promise<DuckTable | undefined> {
    const duck = await openDuck()
    if (duck === undefined) return undefined
    const values = Array.from(
      { length: columns },
      (_, column) => `scattered(i::UBIGINT + ${column * rows})::UINTEGER AS c${column}`,
    )
    await duck.connection.run(`CREATE TABLE t AS SELECT ${values.join(', ')} FROM range(${rows}) t(i)`)
    return new DuckTable(duck)
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
    const reader = await this.#duck.connection.runAndReadAll('SELECT count(*)::DOUBLE FROM selected')
    return { ms, count: Number(reader.getRows()[0]?.[0]) }
  }

  close(): void {
    this.#duck.close()
  }

  async #timed(sql: string) {
    const taken: number[] = []
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      const begin = performance.now()
      await this.#duck.connection.run(sql)
      if (repeat > 0) taken.push(performance.now() - begin)
    }
    const begin = performance.now()
    const reader = await this.#duck.connection.runAndReadAll(sql)
    taken.push(performance.now() - begin)
    return [median(taken), reader.getRows()] as const
  }
}

function conditions(bounds: readonly number[]): string {
  return bounds.map((bound, column) => `c${column} < ${bound}`).join(' AND ')
}
