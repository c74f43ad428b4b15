import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Client, connect, ResultCode } from '../../../clients/sdk/index.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { start } from '../../src/server/start.js'
import { loosely } from './loose-calls.js'

const { inserted, replaced, deleted } = ResultCode

async function clientOf(t: Test, url: string, token?: string): Promise<Client> {
  const client = await connect(url, { token, reconnect: { attempts: 0 } })
  t.teardown(() => client.close())
  return client
}

/** Two indexes and a relation. */
async function prepared(client: Client) {
  const stock = await client.createIndex({
    name: 'stock',
    keyType: 'string',
    payloadKind: 'u32',
    unique: true,
  })
  const orders = await client.createIndex({
    name: 'orders',
    keyType: 'u64',
    payloadKind: 'json',
    unique: false,
  })
  const log = await client.createRelation({
    name: 'log',
    columns: [{ name: 'what', type: 'string', nullable: true }],
  })
  return { stock, orders, log }
}

t.test('batches of several indexes and rows of relations are written together', async (t) => {
  const { url } = await start(t, { ioThreads: 1 }, { structures: prefixTrees })
  const client = await clientOf(t, url)
  const { stock, orders, log } = await prepared(client)
  const [first, second, rows] = await client.write([
    stock.batch().put('tea', 7).put('rice', 3).delete('tea'),
    orders.batch().insert(1n, { of: 'tea' }).insert(1n, { of: 'rice' }),
    log.batch({ what: ['ordered', null] }),
  ])
  t.strictSame([...first], [inserted, inserted, deleted])
  t.strictSame([...second], [inserted, inserted])
  t.same(rows, { first: 0, rows: 2 })
  t.same([await stock.get('tea'), await stock.get('rice')], [undefined, 3])
  t.same([...(await orders.getAll(1))], [{ of: 'tea' }, { of: 'rice' }])
  t.same(await log.read(), { what: ['ordered', null] })
  t.same(await client.write([]), [])

  const sold = () =>
    client.write([
      log.batch({ what: ['sold'] }),
      stock.batch().expect('tea', { exists: false }).expect('rice', { payload: 3 }).put('rice', 2),
      orders
        .batch()
        .expect(1n, { payload: { of: 'tea' } })
        .expect(2n, { exists: false })
        .put(2n, null),
    ])
  const [place, codes, others] = await sold()
  t.same([place, [...codes], [...others]], [{ first: 2, rows: 1 }, [replaced], [inserted]])
  await t.rejects(sold(), {
    code: 'CONDITION_FAILED',
    item: 1,
    message: /condition 1 .* index "stock", wants another/,
  })
  await stock.put('rice', 3)
  await t.rejects(sold(), { code: 'CONDITION_FAILED', item: 3, message: /"orders", wants no payload/ })
  t.same(
    [await stock.get('rice'), (await log.read()).what?.length],
    [3, 3],
    'nothing of what was refused was done',
  )
})

t.test('a batch of one index may expect something, too', async (t) => {
  const { url } = await start(t, {}, { structures: prefixTrees })
  const client = await clientOf(t, url)
  const { stock } = await prepared(client)
  t.strictSame([...(await stock.batch().expect('tea', { exists: false }).put('tea', 1).write())], [inserted])
  await t.rejects(stock.batch().put('tea', 2).expect('tea', { exists: false }).write(), {
    code: 'CONDITION_FAILED',
    item: 0,
  })
  t.strictSame([...(await stock.batch().expect('tea', { exists: true }).write())], [])
  // Read, compute, write if nobody else has meanwhile.
  const add = async (): Promise<void> => {
    const count = (await stock.get('tea')) ?? 0
    const write = stock
      .batch()
      .expect('tea', { payload: count })
      .put('tea', count + 1)
      .write()
    await write.catch((error) => {
      t.equal(error.code, 'CONDITION_FAILED')
      return add()
    })
  }
  await Promise.all(Array.from({ length: 12 }, add))
  t.equal(await stock.get('tea'), 13)
})

t.test('sequence numbers tell whether the first payload is still the one that was read', async (t) => {
  const { url } = await start(t, {}, { structures: prefixTrees })
  const client = await clientOf(t, url)
  const lists = await client.createIndex({ name: 'lists', keyType: 'u32', payloadKind: 'u32', unique: false })
  await lists.insertMany([1, 1, 1], [5, 5, 5])
  const first = async () => (await lists.getMany([1], { sequences: true })).sequences?.[0] ?? -1
  const sequence = await first()
  await lists.batch().expect(1, { sequence }).insert(1, 5).write()
  t.equal(await first(), sequence, 'an append leaves the first payload')
  await lists.put(1, 5)
  t.ok((await first()) > sequence, 'an equal payload in its place is another one')
  await t.rejects(lists.batch().expect(1, { sequence }).delete(1).write(), { code: 'CONDITION_FAILED' })
  await lists.delete(1)
  await lists.insert(1, 5)
  t.equal(await first(), 0, 'a deleted key begins anew')
})

t.test('calls before and after it take effect before and after it', async (t) => {
  const { url } = await start(t, { ioThreads: 1 })
  const maker = await clientOf(t, url)
  await prepared(maker)
  for (const opened of [[], ['stock'], ['orders'], ['stock', 'orders']]) {
    const client = await clientOf(t, url)
    const [stock, orders] = [client.index<'string', 'u32'>('stock'), client.index<'u64', 'json'>('orders')]
    for (const name of opened) await client.index(name).definition()
    await new Promise((resolve) => setImmediate(resolve))
    await maker.write(
      [stock, orders].map(({ name }) =>
        name === 'stock'
          ? maker.index('stock').batch().delete('a')
          : maker.index('orders').batch().delete(1n),
      ),
    )
    const [before, one, , after, other, snapshot] = await Promise.all([
      stock.get('a'),
      orders.count(1),
      client.write([orders.batch().put(1n, 1), stock.batch().put('a', 1)]),
      stock.get('a'),
      orders.count(1),
      client.snapshot(),
    ])
    t.same([before, one, after, other], [undefined, 0, 1, 1], `opened before: ${opened}`)
    t.same([await stock.get('a', { snapshot }), await orders.count(1, { snapshot })], [1, 1])
  }
})

t.test(
  'what does not do is refused before anything is written, and names may come to mean others',
  async (t) => {
    const { url } = await start(t)
    const client = await clientOf(t, url)
    const { stock, orders, log } = await prepared(client)
    const other = await clientOf(t, url)
    await t.rejects(client.write([stock.batch().put('a', 1), stock.batch().put('b', 1)]), {
      code: 'BAD_REQUEST',
      message: /different indexes/,
    })
    await t.rejects(client.write([log.batch({ what: [] }), log.batch({ what: [] })]), {
      code: 'BAD_REQUEST',
      message: /relation "log"/,
    })
    await t.rejects(client.write([other.index<'string', 'u32'>('stock').batch()]), {
      code: 'BAD_REQUEST',
      message: /of one client/,
    })
    await t.rejects(client.write(loosely(stock.batch())), {
      code: 'BAD_REQUEST',
      message: /takes a list of batches/,
    })
    await t.rejects(client.write([stock.batch().put('a', 1), orders.batch().put(loosely('x'), 1)]), {
      code: 'BAD_REQUEST',
    })
    await t.rejects(client.write([stock.batch().put('a', 1), log.batch({ when: [1] })]), {
      code: 'BAD_REQUEST',
    })
    await t.rejects(client.write([stock.batch().put('a', 1), client.index('none').batch().delete(1)]), {
      code: 'UNKNOWN_INDEX',
    })
    t.throws(() => stock.batch().expect('a', loosely({})), {
      code: 'BAD_REQUEST',
      message: /one of exists, payload, sequence/,
    })
    t.throws(() => stock.batch().expect('a', loosely({ exists: true, payload: 1 })), { code: 'BAD_REQUEST' })
    t.throws(() => stock.batch().expect('a', loosely({ version: 1 })), {
      code: 'BAD_REQUEST',
      message: /no option "version"/,
    })
    t.equal(await stock.get('a'), undefined)

    // Made anew by another client with the same types: the batch is written to what there is.
    await other.dropIndex('stock')
    await other.createIndex({ name: 'stock', keyType: 'string', payloadKind: 'u32', unique: true })
    await client.write([orders.batch().put(1n, 1), stock.batch().put('a', 1)])
    t.equal(await other.index<'string', 'u32'>('stock').get('a'), 1)
    await other.dropIndex('stock')
    await other.createIndex({ name: 'stock', keyType: 'u32', payloadKind: 'u32', unique: true })
    await t.rejects(client.write([orders.batch().put(1n, 2), stock.batch().put('a', 1)]), {
      code: 'INDEX_CHANGED',
    })
    t.equal(await orders.get(1), 1)
    const over = await client.relation('log').createIndex<'string'>('by what', ['what'])
    await t.rejects(client.write([over.batch().put('a', 1)]), {
      code: 'BAD_REQUEST',
      message: /takes no writes of its own/,
    })
  },
)

t.test('rows are appended if an index over their columns says so', async (t) => {
  const { url } = await start(t, {}, { structures: prefixTrees })
  const client = await clientOf(t, url)
  const { stock, log } = await prepared(client)
  const over = await log.createIndex<'string'>('by what', ['what'])
  const once = (what: string) =>
    client.write([log.batch({ what: [what] }), over.batch().expect(what, { exists: false })])
  const answers = await Promise.allSettled([once('a'), once('b'), once('a'), once('c')])
  t.match(answers, [
    { value: [{ first: 0, rows: 1 }] },
    { value: [{ first: 1, rows: 1 }] },
    { reason: { code: 'CONDITION_FAILED', item: 0, message: /index "by what", wants no payload/ } },
    { value: [{ first: 2, rows: 1 }] },
  ])
  t.same(await log.read(), { what: ['a', 'b', 'c'] })
  // Without rows for the relation, by the number of a row.
  await client.write([stock.batch().put('b', 1), over.batch().expect('b', { payload: 1 })])
  await t.rejects(client.write([stock.batch().put('b', 2), over.batch().expect('b', { payload: 0 })]), {
    code: 'CONDITION_FAILED',
  })
  t.equal(await stock.get('b'), 1)
  await client.dropRelation('log')
  await t.rejects(client.write([stock.batch().put('b', 2), over.batch().expect('b', { exists: false })]), {
    code: 'UNKNOWN_INDEX',
  })
})

t.test('each part needs its right', async (t) => {
  const folder = t.testdir({ data: {} })
  const tokens = join(folder, 'tokens.json')
  const token = 'writer-writer-writer-writer'
  const entries = [
    { name: 'operator', token: 'operator-operator-operator', admin: true },
    {
      name: 'writer',
      token,
      rights: [
        { index: 'stock', allow: ['write'] },
        { index: 'orders', allow: ['read'] },
      ],
    },
    { name: 'reader', token: 'reader-reader-reader-reader', rights: [{ index: '*', allow: ['read'] }] },
  ]
  writeFileSync(tokens, JSON.stringify({ tokens: entries }), { mode: 0o600 })
  const { url } = await start(t, { tokens, directory: join(folder, 'data') })
  await prepared(await clientOf(t, url, 'operator-operator-operator'))
  const writer = await clientOf(t, url, token)
  const [stock, orders, log] = [
    writer.index<'string', 'u32'>('stock'),
    writer.index<'u64', 'json'>('orders'),
    writer.relation('log'),
  ]
  const lacks = (call: Promise<unknown>, right: string, on: string) =>
    t.rejects(call, {
      code: 'UNAUTHORISED',
      message: new RegExp(`right "${right}" on ${JSON.stringify(on)}`),
    })
  await writer.write([stock.batch().put('a', 1), orders.batch().expect(1n, { exists: false })])
  await lacks(writer.write([stock.batch().put('a', 2), orders.batch().put(1n, 1)]), 'write', 'orders')
  await lacks(writer.write([stock.batch().expect('a', { exists: false })]), 'read', 'stock')
  await t.rejects(writer.write([stock.batch().put('a', 2), log.batch({ what: ['x'] })]), {
    code: 'UNAUTHORISED',
  })
  const reader = await clientOf(t, url, 'reader-reader-reader-reader')
  t.equal(await reader.index<'string', 'u32'>('stock').get('a'), 1, 'nothing of what was refused was written')
  await lacks(reader.write([reader.relation('log').batch({ what: ['x'] })]), 'write', 'log')
})
