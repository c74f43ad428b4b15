// The suite's short form, run by whatever Node it is started with: a server starts, takes writes, is killed, starts again, and answers. It prints what it has
// run on. Arguments are the module of the client and the path of the command, and `lacking` where there is no DuckDB, which is then asked for by what needs it.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const [client, program, lacking] = process.argv.slice(2)
const { col, connect, relation, sum } = await import(client)
const folder = mkdtempSync(join(tmpdir(), 'warpdex-smoke-'))
/** Servers that were started. */
const servers = []

async function serve() {
  const flags = ['serve', '--port', '0', '--adapter', 'software', '--directory', folder]
  const server = spawn(process.execPath, [program, ...flags], { stdio: ['ignore', 'pipe', 'ignore'] })
  servers.push(server)
  const ended = once(server, 'exit')
  let banner = ''
  for await (const chunk of server.stdout) {
    banner += chunk
    if (banner.includes('Ctrl-C')) break
  }
  const [url] = /ws:\S+/.exec(banner) ?? assert.fail(`no server: ${banner}`)
  const end = async (signal) => {
    server.kill(signal)
    return await ended
  }
  return { client: await connect(url), url, end }
}

async function asksForDuckDB({ client, url }) {
  const asks = /npm install @duckdb\/node-api@\d/
  await assert.rejects(client.sql('select city from sales').rows(), { code: 'BAD_REQUEST', message: asks })
  await assert.rejects(client.importFile(join(folder, 'a.csv'), { relation: 'sales' }), { message: asks })
  const tree = join(folder, 'tree.json')
  writeFileSync(tree, JSON.stringify({ op: 'scan', relation: 'sales' }))
  const query = (...flags) =>
    spawnSync(process.execPath, [program, 'query', tree, '--url', url, ...flags], { encoding: 'utf8' })
  const parquet = query('--output', join(folder, 'sales.parquet'))
  assert.match(parquet.stderr, asks)
  assert.equal(query('--format', 'csv').stdout, 'city,sold\nOslo,1\nParis,2\nOslo,3\n')
}

try {
  const first = await serve()
  const cities = await first.client.createIndex({
    name: 'cities',
    keyType: 'string',
    payloadKind: 'u32',
    unique: true,
  })
  await cities.putMany(['Oslo', 'Paris'], [700, 2100])
  const columns = [
    { name: 'city', type: 'string', nullable: false },
    { name: 'sold', type: 'u32', nullable: false },
  ]
  const sales = await first.client.createRelation({ name: 'sales', columns })
  await sales.append({ city: ['Oslo', 'Paris', 'Oslo'], sold: [1, 2, 3] })
  await first.end('SIGKILL')
  await first.client.close({ now: true })

  const second = await serve()
  assert.equal(await second.client.index('cities').get('Paris'), 2100)
  const query = relation('sales')
    .where(col('city').eq('Oslo'))
    .groupBy([], { sold: sum('sold') })
  assert.deepEqual(await second.client.query(query).rows(), [{ sold: 4n }])
  if (lacking === 'lacking') await asksForDuckDB(second)
  await second.client.close()
  assert.deepEqual(await second.end('SIGTERM'), [0, null])
  console.log(`Node ${process.versions.node}`)
} finally {
  for (const server of servers) server.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}
