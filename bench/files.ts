import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { DuckDBInstance } from '@duckdb/node-api'
import { parseColumnSpec } from '../clients/cli/import/column-spec.js'
import { connect } from '../clients/sdk/index.js'
import type { AdapterChoice } from '../gpu/device/adapter.js'
import type { Row } from './report.js'
import { withServer } from './server-process.js'

const NUMBERS = 'i as id, i * 7919 % 100000 as city, round(random() * 1000, 2)::float as price'
const CASES = {
  'three numeric columns': { select: NUMBERS, columns: 'id:u32,city:u32,price:f32' },
  'and one of strings': {
    select: `${NUMBERS}, 'city ' || i % 50000 as name`,
    columns: 'id:u32,city:u32,price:f32,name:string',
  },
} as const

/**
 * Imports of files into relations over WebSocket: rows per second, and per second of this process' CPU, which is the client's and DuckDB's in it. Beside them
 * what DuckDB takes to read the same file alone.
 */
export async function benchFiles(adapter: AdapterChoice, count: number): Promise<Row[]> {
  const rows: Row[] = []
  const directory = mkdtempSync(join(tmpdir(), 'warpdex-files-'))
  const duck = await (await DuckDBInstance.create(':memory:')).connect()
  try {
    await withServer(['--adapter', adapter], async ({ url }) => {
      const client = await connect(url)
      for (const [name, { select, columns }] of Object.entries(CASES)) {
        for (const format of ['csv', 'parquet'] as const) {
          const file = join(directory, `rows.${format}`)
          await duck.run(`copy (select ${select} from range(${count}) t(i)) to '${file}' (format ${format})`)
          const alone = await timed(() => duck.run(`create or replace temp table alone as from '${file}'`))
          const own = await timed(() =>
            client.importFile(file, { relation: 'bench', columns: parseColumnSpec(columns) }),
          )
          await client.dropRelation('bench')
          const figures = {
            'M rows/s': count / own.seconds / 1e6,
            'M rows/CPU s': count / own.cpuSeconds / 1e6,
            'DuckDB alone, M rows/s': count / alone.seconds / 1e6,
            'M rows/CPU s alone': count / alone.cpuSeconds / 1e6,
          }
          rows.push({ name: `${format}, ${name}`, figures })
        }
      }
      await client.close()
    })
  } finally {
    duck.closeSync()
    rmSync(directory, { recursive: true, force: true })
  }
  return rows
}

async function timed(work: () => Promise<unknown>) {
  const [since, cpu] = [performance.now(), process.cpuUsage()]
  await work()
  const { user, system } = process.cpuUsage(cpu)
  return { seconds: (performance.now() - since) / 1000, cpuSeconds: (user + system) / 1e6 }
}
