import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { ServerProcess } from '../../../bench/server-process.js'
import { connect } from '../../../clients/sdk/index.js'
import { fastest, showSteps } from '../timing.js'
import { TPCH_TABLES, tpchStatements } from './generate.js'
import { SQL_QUESTIONS } from './questions.js'

export interface SqlRun {
  readonly scale: number
  readonly seed: number
  readonly rounds: number
  /** Whether to show what each operator did. */
  readonly steps: boolean
  readonly adapter: string
}

/**
 * Asks a server in a process of its own and DuckDB, on all processors, the 22 questions in SQL, and prints the time of both: the fastest of some rounds, with all rows in the client.
 * Tables are made in DuckDB, and go to the server by files of Parquet.
 */
export async function runSqlQuestions({ scale, seed, rounds, steps, adapter }: SqlRun): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'warpdex-tpch-'))
  const instance = await DuckDBInstance.create(join(folder, 'tpch.duckdb'))
  const duck = await instance.connect()
  const server = await ServerProcess.start(join(folder, 'data'), ['--adapter', adapter])
  const client = await connect(server.url)
  try {
    const since = performance.now()
    for (const statement of tpchStatements(scale, seed)) await duck.run(statement)
    console.log(`made in ${secondsSince(since)} s`)
    for (const [relation, types] of Object.entries(TPCH_TABLES)) {
      const path = join(folder, `${relation}.parquet`)
      await duck.run(`copy ${relation} to '${path}'`)
      const columns = Object.entries(types).map(([name, type]) => ({ name, type, nullable: false }))
      const begin = performance.now()
      const { rows } = await client.importFile(path, { relation, columns })
      console.log(`${relation}: ${rows} rows in ${secondsSince(begin)} s`)
      rmSync(path)
    }
    console.log(`made and loaded in ${secondsSince(since)} s`)
    // Else that goes on beside the first questions.
    const { adapter: device } = await client.calibration({ again: true })
    console.log(`adapter: ${device.name}; --scale ${scale} --seed ${seed}`)
    let logarithms = 0
    for (const [i, text] of SQL_QUESTIONS.entries()) {
      let [ownRows, rows] = [0, 0]
      const own = await fastest(rounds, async () => {
        ownRows = 0
        for await (const batch of client.sql(text)) ownRows += batch.length
      })
      const other = await fastest(rounds, async () => {
        rows = (await duck.runAndReadAll(text)).currentRowCount
      })
      logarithms += Math.log(other / own)
      const verdict = rows === ownRows ? `${rows} rows` : `${ownRows} rows instead of ${rows}`
      console.log(`Q${i + 1}: ${own.toFixed(1)} ms, DuckDB ${other.toFixed(1)} ms; ${verdict}`)
      if (steps) showSteps(await client.explainSql(text))
    }
    console.log(`geometric mean: ${Math.exp(logarithms / SQL_QUESTIONS.length).toFixed(2)} times as fast`)
  } finally {
    await client.close()
    await server.stop()
    duck.closeSync()
    instance.closeSync()
    rmSync(folder, { recursive: true })
  }
}

function secondsSince(since: number): string {
  return ((performance.now() - since) / 1000).toFixed(1)
}
