import t, { type Test } from 'tap'
import { type Client, connect, type Index, ResultCode } from '../../../clients/sdk/index.js'
import { asBytes } from '../../../protocol/columns.js'
import type { RunningServer } from '../../../src/server/index.js'
import { Random, seedOfRun } from '../../random.js'
import { natsLacks } from '../../src/cluster/nats-servers.js'
import { startNodes } from '../../src/cluster/start-nodes.js'
import { RawClient } from '../../src/server/raw-client.js'

const skip = natsLacks() ?? false
const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
const { inserted, replaced, deleted, exists } = ResultCode

const DEFINITION = { keyType: 'u32', payloadKind: 'u32', unique: true } as const
const SPLIT = { splitAt: [100, 200] }

async function clientOf(t: Test, { url }: RunningServer): Promise<Client> {
  const client = await connect(url)
  t.teardown(() => client.close())
  return client
}

async function payloadsOf(index: Index<'u32', 'u32'>, keys: number[]): Promise<number[]> {
  return [...(await index.getMany(keys)).payloads]
}

t.test('a batch over several replica sets is one unit', { skip }, async (t) => {
  const nodes = await startNodes(t, 3, 3)
  const client = await clientOf(t, nodes[0]!)
  const stock = await client.createIndex({ name: 'stock', ...DEFINITION }, SPLIT)
  const texts = { name: 'texts', keyType: 'string', payloadKind: 'text', unique: false } as const
  const names = await client.createIndex(texts, { splitAt: ['m'] })
  const log = await client.createRelation({
    name: 'log',
    columns: [{ name: 'what', type: 'string', nullable: false }],
  })

  await t.test('with a result code for each item, in order', async (t) => {
    const batch = stock.batch().put(250, 1).put(50, 2).put(150, 3).put(50, 4).delete(250)
    const codes = await batch.insert(150, 9, { ifExists: 'keep' }).write()
    t.strictSame([...codes], [inserted, inserted, inserted, replaced, deleted, exists])
    t.same(await payloadsOf(stock, [50, 150, 250]), [4, 3, 0])
    const [rows, ...others] = await client.write([
      log.batch({ what: ['a', 'b'] }),
      stock.batch().put(250, 5).expect(50, { payload: 4 }),
      names.batch().insert('z', 'last').insert('a', 'first').expect('z', { exists: false }),
    ])
    t.same(rows, { first: 0, rows: 2 })
    t.strictSame(
      others.map((codes) => [...(codes as Uint8Array)]),
      [[inserted], [inserted, inserted]],
    )
    t.same([await names.get('z'), await names.get('a'), await stock.get(250)], ['last', 'first', 5])
  })

  await t.test('of which nothing is done where a condition does not hold', async (t) => {
    const before = await payloadsOf(stock, [50, 150, 250])
    for (const wrong of [50, 150, 250]) {
      const batch = stock.batch()
      for (const key of [250, 50, 150]) batch.put(key, 77).expect(key, { exists: key !== wrong })
      const texts = names.batch().expect('nobody', { exists: false }).insert('x', 'y')
      const item = 1 + [250, 50, 150].indexOf(wrong)
      await t.rejects(client.write([texts, batch]), {
        code: 'CONDITION_FAILED',
        item,
        message: new RegExp(`^condition ${item} of the batch, on index "stock"`),
      })
    }
    t.same(await payloadsOf(stock, [50, 150, 250]), before)
    t.equal(await names.count('x'), 0)
  })

  await t.test('also where a replica set has conditions only', async (t) => {
    const batch = () => stock.batch().put(50, 6).put(150, 6)
    await batch().expect(250, { payload: 5 }).write()
    await t.rejects(batch().put(50, 8).expect(250, { payload: 6 }).write(), { code: 'CONDITION_FAILED' })
    t.same(await payloadsOf(stock, [50, 150, 250]), [6, 6, 5])
    await stock.batch().expect(50, { payload: 6 }).expect(250, { payload: 5 }).write()
  })

  await t.test('which a client that is told otherwise gives up', async (t) => {
    const other = await clientOf(t, nodes[1]!)
    const known = await other.index<'u32', 'u32'>('stock')
    await client.dropIndex('stock')
    await t.rejects(known.batch().put(50, 1).put(250, 1).write(), { code: 'UNKNOWN_INDEX' })
    const again = await client.createIndex({ name: 'stock', ...DEFINITION }, SPLIT)
    t.strictSame([...(await known.batch().put(50, 1).put(250, 1).write())], [inserted, inserted])
    t.same(await payloadsOf(again, [50, 150, 250]), [1, 0, 1])
    await t.rejects(known.batch().put(50, 2).put(250, 2).write({ signal: AbortSignal.abort() }), {
      code: 'CANCELLED',
    })
  })

  await t.test('whose entries expire as they say, or after the ttl', async (t) => {
    const timed = await client.createIndex({ name: 'timed', ...DEFINITION, ttl: 3600 }, SPLIT)
    const keys = [50, 150, 250]
    const [begun, due] = [Date.now(), timed.batch()]
    for (const key of keys) due.put(key, 1, { expireAt: 1 })
    t.strictSame([...(await due.write())], [inserted, inserted, inserted])
    // Earlier than the ttl, and the first of them not on the first replica set.
    const times = [3000, 1000, 2000].map((seconds) => begun + seconds * 1000)
    const batch = timed.batch()
    keys.forEach((key, i) => {
      batch.expect(key, { exists: false }).insert(key, 2, { ifExists: 'keep', expireAt: times[i] })
      batch.put(key + 1, 3).put(key + 2, 4, { expireAt: 0 })
    })
    t.strictSame([...(await batch.write())], Array(9).fill(inserted))
    const { nextExpiry, expired, expiring } = await timed.stats()
    t.strictSame({ nextExpiry, expired, expiring }, { nextExpiry: times[1], expired: 3, expiring: 6 })

    const raw = await RawClient.connect(t, nodes[1]!.url)
    await raw.ask({ id: 0, op: 'hello', protocol: 2, client: 'c' })
    const from = { type: 'u32', bytes: asBytes(Uint32Array.of(250, 51)) } as const
    const scan = { id: 1, op: 'scan', index: 'timed', limit: 3, withExpireAt: true }
    const { sections } = await raw.ask(scan, { from })
    const told = [...new BigUint64Array(Uint8Array.from(sections.get('expireAt')!.bytes).buffer)].map(Number)
    const isByTtl = (at: number) => at >= begun + 3_600_000 && at <= Date.now() + 3_600_000
    t.strictSame(
      told.map((at) => (isByTtl(at) ? 'ttl' : at)),
      [times[2], 'ttl', 0, 'ttl', 0],
    )
  })

  await t.test('before and behind other requests of a client', async (t) => {
    const index = await client.index<'u32', 'u32'>('stock')
    const answers = await Promise.all([
      index.put(150, 10),
      index.batch().put(150, 11).put(50, 11).write(),
      index.getMany([150, 50]).then(({ payloads }) => [...payloads]),
      index.batch().expect(150, { payload: 11 }).put(50, 12).put(150, 12).write(),
      index.get(50),
    ])
    t.same([answers[2], answers[4]], [[11, 11], 12])
  })
})

t.test('transfers between replica sets', { skip }, async (t) => {
  const nodes = await startNodes(t, 3, 3)
  const accounts = { name: 'accounts', ...DEFINITION }
  const clients = await Promise.all(nodes.map((node) => clientOf(t, node)))
  await clients[0]!.createIndex(accounts, SPLIT)
  const [one, other, third] = (await Promise.all(
    clients.map((client) => client.index<'u32', 'u32'>('accounts')),
  )) as [Index<'u32', 'u32'>, Index<'u32', 'u32'>, Index<'u32', 'u32'>]
  const random = new Random(seed)
  const keys = [50, 60, 150, 160, 250, 260]
  await one.putMany(
    keys,
    keys.map(() => 1000),
  )

  await t.test('keep the sum, whoever makes them in whichever order', async (t) => {
    let done = 0
    const move = async (index: Index<'u32', 'u32'>) => {
      const from = random.pick(keys)
      const to = random.pick(keys.filter((key) => key !== from))
      const [has, had] = await payloadsOf(index, [from, to])
      const amount = random.below(has! + 1)
      const batch = index
        .batch()
        .put(from, has! - amount)
        .put(to, had! + amount)
      batch.expect(from, { payload: has! }).expect(to, { payload: had! })
      const isDone = await batch.write().then(
        () => 1,
        ({ code }) => t.equal(code, 'CONDITION_FAILED') && 0,
      )
      done += Number(isDone)
    }
    const several = async (index: Index<'u32', 'u32'>) => {
      for (let i = 0; i < 25; i++) await Promise.all([move(index), move(index)])
    }
    await Promise.all([several(one), several(other)])
    t.ok(done > 0, `${done} transfers`)
    t.equal(
      (await payloadsOf(third, keys)).reduce((sum, each) => sum + each, 0),
      6000,
    )
  })

  await t.test('are seen on all replica sets once they are seen on one', async (t) => {
    const write = (n: number) => one.batch().put(50, n).put(150, n).put(250, n).write()
    let isOver = false
    await write(0)
    const writing = (async () => {
      for (let n = 1; n <= 60; n++) await write(n)
      isOver = true
    })()
    let looks = 0
    const reading = async (index: Index<'u32', 'u32'>) => {
      while (!isOver) {
        const order = [50, 150, 250].sort(() => random.below(3) - 1)
        const seen: number[] = []
        for (const key of order) seen.push((await index.get(key)) ?? 0)
        const isRight = seen.every((each, i) => i === 0 || each >= seen[i - 1]!)
        if (!isRight) t.fail(`${order} have ${seen}`)
        looks++
      }
    }
    await Promise.all([writing, reading(other), reading(third)])
    t.ok(looks > 0, `${looks} looks`)
  })
})

t.test('batches go on where the owner of a replica set is another one', { skip }, async (t) => {
  const nodes = await startNodes(t, 4, 2)
  const client = await clientOf(t, nodes[0]!)
  const index = await client.createIndex({ name: 'pairs', ...DEFINITION }, { splitAt: [100] })
  const owner = nodes.find(({ engine: { replica } }) => {
    return replica.cluster?.().set === 1 && replica.figures?.().role === 'owner'
  })
  const writing = (async () => {
    for (let n = 1; n <= 40; n++)
      await index
        .batch()
        .put(n, n)
        .put(100 + n, n)
        .write()
  })()
  while ((await index.get(110)) === undefined) await new Promise((resolve) => setTimeout(resolve, 5))
  await owner?.close()
  await writing
  t.same([await index.get(40), await index.get(140)], [40, 40])
})
