import { cpus } from 'node:os'

/** `scattered` of keys.ts in SQL. */
const SCATTERED = `CREATE MACRO mixed(h, shift) AS xor(h, h >> shift);
CREATE MACRO scattered(i) AS mixed((mixed((mixed(i, 16) * 2246822507) & 4294967295, 13) * 3266489909) & 4294967295, 16)`

/** A DuckDB in memory, which works with all cores and has `scattered`. */
export interface Duck {
  readonly connection: import('@duckdb/node-api').DuckDBConnection
  readonly threads: number
  close(): void
}

/** @returns undefined where the package is not installed: only those who have it compare with it */
export async function openDuck(): Promise<Duck | undefined> {
  const name = '@duckdb/node-api'
  const duckdb: typeof import('@duckdb/node-api') | undefined = await import(name).catch(() => undefined)
  if (duckdb === undefined) return undefined
  const instance = await duckdb.DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  for (const statement of SCATTERED.split(';')) await connection.run(statement)
  return {
    connection,
    threads: cpus().length,
    close: () => {
      connection.closeSync()
      instance.closeSync()
    },
  }
}
