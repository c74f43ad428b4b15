import t, { type Test } from 'tap'
import { connect, WarpdexError } from '../../../clients/sdk/index.js'
import { FakeServer } from './fake-server.js'

const numbers = { name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false } as const

async function open(t: Test) {
  const server = new FakeServer()
  await server.start()
  const client = await connect(server.url, { reconnect: { firstDelay: 5, maxDelay: 20 } })
  t.teardown(async () => {
    await client.close()
    await server.stop()
  })
  await client.createIndex(numbers)
  const index = client.index<'u32', 'u32'>('numbers')
  await index.insertMany([1], [10])
  return { server, client, index }
}

/** Refuses the first request of each kind that comes from now on. */
function refuseFirst(server: FakeServer, error: WarpdexError): void {
  const refused = new Set<string>()
  server.intervene = ({ op }) => {
    if (op === 'open' || refused.has(op)) return 'none'
    refused.add(op)
    return error
  }
}

t.test('an index is opened once, and its handle outlives connections', async (t) => {
  const { server, index } = await open(t)
  await Promise.all([index.getMany([1]), index.countMany([1]), index.get(1)])
  server.drop()
  t.equal(await index.get(1), 10)
  t.equal(server.connections, 2)
  t.equal(server.of('open').length, 1)
})

t.test('calls go on in what has come in its place', async (t) => {
  const { server, index } = await open(t)
  server.remake('numbers')
  t.equal(await index.get(1), undefined, 'another handle')
  const named = server.indexes.get('numbers')!
  named.generation++
  const [codes, got, count] = await Promise.all([
    index.insertMany([1], [11]),
    index.getMany([1]),
    index.countMany([1]),
  ])
  t.strictSame([[...codes], got.payload(0), [...count]], [[0], 11, [1]], 'another generation, in order')
  t.equal(server.of('open').length, 3, 'what is refused together opens it once')
  const pages = index.entries({ pageSize: 1 }).pages()
  await index.insertMany([2], [12])
  await pages.next()
  named.generation++
  await t.rejects(pages.next(), { code: 'INDEX_CHANGED', message: /what was begun does not go on in it$/ })
  t.equal(await index.get(2), 12)
})

t.test('who may not see all names is refused alike, and finds out by the name', async (t) => {
  const { server, index } = await open(t)
  const refusal = new WarpdexError('UNAUTHORISED', 'not for you')
  refuseFirst(server, refusal)
  server.remake('numbers')
  t.equal(await index.get(1), undefined)
  refuseFirst(server, refusal)
  await t.rejects(
    index.insertMany([1], [1]),
    { code: 'UNAUTHORISED', message: 'not for you' },
    'the same index',
  )
  t.strictSame([...(await index.insertMany([1], [1]))], [0])
  server.intervene = () => refusal
  await t.rejects(index.countMany([1]), { code: 'UNAUTHORISED' }, 'nor may it be opened')
})

t.test('an error that opening the index does not explain stays as it is', async (t) => {
  const { server, client, index } = await open(t)
  for (const code of ['UNKNOWN_INDEX', 'INDEX_CHANGED'] as const) {
    refuseFirst(server, new WarpdexError(code, 'as it was'))
    await t.rejects(index.getAllMany([1]), { code, message: 'as it was' })
    t.strictSame((await index.getAllMany([1])).of(0), [10])
  }
  server.intervene = () => 'none'
  await client.dropIndex('numbers')
  await t.rejects(index.getMany([1]), { code: 'UNKNOWN_INDEX', message: /no index "numbers"/ })
  await client.createIndex({ ...numbers, payloadKind: 'u64' })
  t.equal(await client.index<'u32', 'u64'>('numbers').get(1), undefined)
})

t.test('a request says how long it is waited for', async (t) => {
  const { server, index } = await open(t)
  await index.countMany([1], { deadline: 60_000 })
  await index.countMany([1], { deadline: 2 ** 40 })
  await index.countMany([1])
  const [bounded, long, unbounded] = server.of('count').map(({ deadline = 0 }) => deadline)
  t.ok(bounded > 50_000 && bounded <= 60_000)
  t.strictSame([long, unbounded], [0, 0])
})
