import t from 'tap'
import { connect } from '../../../clients/sdk/index.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { SlowRequest } from '../../../protocol/slow-request.js'
import { SlowLog } from '../../../src/observe/slow-log.js'
import { statementOutline } from '../../../src/observe/statement-outline.js'
import { cliOf, spawnCli } from '../../clients/cli/run-cli.js'
import { modelStructures } from '../../model-structure.js'
import { start } from './start.js'

const TOKEN = 'rosebud-4711-token'

/** Structures whose reads take longer than the servers of these tests want. */
const slowStructures: typeof modelStructures = {
  ...modelStructures,
  create: async (...args) => {
    const structure = await modelStructures.create(...args)
    const read = structure.read.bind(structure)
    const slowly: typeof read = async (...asked) => {
      await new Promise((resolve) => setTimeout(resolve, 80))
      return read(...asked)
    }
    return Object.assign(structure, { read: slowly })
  },
}

for (const ioThreads of [0, 1]) {
  t.test(`requests that take long are kept, with ${ioThreads} threads that listen`, async (t) => {
    const server = await start(
      t,
      { ioThreads, token: TOKEN, slowMilliseconds: 50 },
      { structures: slowStructures },
    )
    const client = await connect(server.url, { token: TOKEN })
    t.teardown(() => client.close())
    const index = await client.createIndex({
      name: 'numbers',
      keyType: 'u32',
      payloadKind: 'u32',
      unique: true,
    })
    await index.insertMany([1, 2, 3], [10, 20, 30])
    await index.getMany([1, 2, 3, 4])
    await index.entries({ limit: 2 }).firstPage()
    await t.rejects(index.explain([1], { deadline: 20 }), { code: 'DEADLINE_EXCEEDED' })
    const kept = async (op: string) => (await client.slowRequests()).requests.find((slow) => slow.op === op)
    const get = await until(() => kept('get'))
    const scan = await until(() => kept('scan'))
    const common = { names: ['numbers'], outcome: 'OK', token: '--token', address: /127\.0\.0\.1/ }
    t.match(get, { keys: 4, rows: 0, ...common })
    t.match(scan, { keys: 1, rows: 2, ...common })
    for (const { milliseconds, times, at, bytesIn, bytesOut } of [get, scan]) {
      const { waiting, running, replying } = times!
      t.ok(milliseconds > 50 && running > 50, `${milliseconds} ms, of which it ran ${running}`)
      t.ok(Math.abs(waiting + running + replying - milliseconds) < 0.01, 'its parts are all of it')
      t.ok(Math.abs(Date.now() - at) < 60_000)
      t.ok(bytesIn >= 48 && bytesOut > 48)
    }
    const { threshold, requests } = await client.slowRequests({ after: get.number })
    t.equal(threshold, 50)
    t.equal(requests[0]?.number, get.number + 1)
    const told = (path: string) =>
      fetch(server.url.replace('ws', 'http') + path, { headers: { authorization: `Bearer ${TOKEN}` } })
    t.match(await (await told('/clients.json')).json(), {
      clients: [{ token: '--token', address: /127\.0\.0\.1/, requestsInFlight: Number, requests: Number }],
      unlisted: 0,
    })
    const http = await told('/slow.json')
    const { requests: shown } = (await http.json()) as { readonly requests: readonly SlowRequest[] }
    t.match(
      shown.filter(({ number }) => number >= get.number),
      [get, scan],
    )
    if (ioThreads > 0) return
    const environment = { WARPDEX_URL: server.url, WARPDEX_TOKEN: TOKEN }
    const cli = cliOf(environment)
    t.match(await cli(['slow']), {
      code: 0,
      out: /^time [\s\S]*\n\S+Z +get +OK +\d+ ms +\d+ \+ \d+ \+ \d+ +4 +0 .*--token at .*127.0.0.1 +numbers\n/,
    })
    const follower = spawnCli(environment, ['slow', '--follow', '--json'])
    t.teardown(() => follower.kill())
    let printed = ''
    follower.stdout.on('data', (text) => {
      printed += text
    })
    const line = async (op: string) => {
      const found = printed.split('\n').find((each) => each.includes(`"op":"${op}"`))
      return found && printed.includes(`${found}\n`) ? (JSON.parse(found) as SlowRequest) : undefined
    }
    t.match(await until(() => line('get')), { ...get, at: new Date(get.at).toISOString() })
    await index.countMany([1])
    t.match(await until(() => line('count')), { names: ['numbers'], keys: 1 })
  })
}

/** What is found as soon as it is there. */
async function until<T>(find: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await find()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

t.test('queries tell their relations, and statements what is no data', async (t) => {
  const server = await start(t, { slowMilliseconds: 1 }, { structures: modelStructures })
  const client = await connect(server.url)
  t.teardown(() => client.close())
  const orders = await client.createRelation({
    name: 'orders',
    columns: [{ name: 'k', type: 'u32', nullable: false }],
  })
  await orders.append({ k: [1, 2, 3] })
  t.equal((await client.sql("select k from orders where k < 3 and 'secret' <> 'x'").rows()).length, 2)
  const { requests } = await client.slowRequests()
  const statement = requests.find(({ op }) => op === 'query')
  t.match(statement, { statement: 'select k from orders where k < ? and ? <> ?', rows: 2, outcome: 'OK' })
  t.ok(statement?.times !== undefined, 'it had its turn')
  t.notMatch(JSON.stringify(requests), /secret/)
})

t.test('without a threshold nothing is kept', async (t) => {
  const server = await start(t, { slowMilliseconds: 0 }, { structures: slowStructures })
  const client = await connect(server.url)
  t.teardown(() => client.close())
  const index = await client.createIndex({ name: 'n', keyType: 'u32', payloadKind: 'u32', unique: true })
  await index.getMany([1])
  t.strictSame(await client.slowRequests(), { threshold: 0, requests: [] })
})

t.test('the last ones are kept', (t) => {
  const log = new SlowLog(10)
  const request = {
    at: 0,
    op: 'get',
    names: [],
    outcome: 'OK',
    keys: 1,
    rows: 0,
    bytesIn: 0,
    bytesOut: 0,
  } as const
  for (let milliseconds = 0; milliseconds < LIMITS.slowRequests + 30; milliseconds++)
    log.add({ ...request, milliseconds })
  const kept = log.after(0)
  t.equal(kept.length, LIMITS.slowRequests)
  t.match(kept[0], { number: 20, milliseconds: 30 })
  t.equal(log.after(LIMITS.slowRequests + 18).length, 1)
  t.end()
})

t.test('an outline of a statement has no constant', (t) => {
  const cases: readonly (readonly [string, string])[] = [
    [
      `select * from "my tab'le" where a = 'it''s'\n and b > 1.5e-10`,
      `select * from "my tab'le" where a = ? and b > ?`,
    ],
    [
      `select c1, t2.c3 from t2 -- a 'secret\nwhere d = e'a\\'b' /* 'c' */`,
      'select c1, t2.c3 from t2 where d = ?',
    ],
    [`select $1, $name, $$x$$, $q$ $$ x $q$, .5, 0x1F, x'ab'`, 'select $1, $name, ?, ?, ?, ?, x?'],
    [`select 'has no end, select 7`, 'select ?'],
    [`select $q$has no end$$`, 'select ?'],
    [`select date'1999-01-01'`, 'select date?'],
  ]
  for (const [statement, outline] of cases) t.equal(statementOutline(statement), outline)
  t.equal(statementOutline('a'.repeat(1000)).length, 501)
  t.end()
})
