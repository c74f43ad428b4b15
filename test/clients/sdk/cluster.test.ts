import t, { type Test } from 'tap'
import { Client } from '../../../clients/sdk/client.js'
import { connect, type Index, type PayloadKind } from '../../../clients/sdk/index.js'
import { NodeConnection } from '../../../clients/sdk/node-connection.js'
import type { RunningServer } from '../../../src/server/index.js'
import { temporaryDirectory } from '../../persistence/store-helpers.js'
import { Random, seedOfRun } from '../../random.js'
import { natsLacks } from '../../src/cluster/nats-servers.js'
import { startNodes } from '../../src/cluster/start-nodes.js'
import { start } from '../../src/server/start.js'
import { loosely } from './loose-calls.js'

const lack = natsLacks()
if (lack !== undefined) t.comment(lack)
const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)

/** Some keys of a type in ascending order, and those to split at. */
interface Keys {
  readonly all: readonly unknown[]
  readonly splitAt: readonly unknown[]
  readonly payloadKind: PayloadKind
  readonly payload: (n: number) => unknown
}

const some = <T>(make: (i: number) => T) => Array.from({ length: 60 }, (_, i) => make(i))
const KEYS: Readonly<Record<string, Keys>> = {
  u32: { all: some((i) => 7 * i), splitAt: [100, 333], payloadKind: 'u32', payload: Number },
  i64: {
    all: some((i) => BigInt(i - 30) << 33n),
    splitAt: [-5n << 33n, 1n],
    payloadKind: 'u64',
    payload: BigInt,
  },
  f64: {
    all: some((i) => (i - 30) / 4),
    splitAt: [0],
    payloadKind: 'fixed(3)',
    payload: (n) => Uint8Array.of(n, n >> 8, n >> 16),
  },
  string: {
    all: some((i) => `${String.fromCharCode(97 + i / 10)}${'x'.repeat(i % 10)}`),
    splitAt: ['b', 'exx'],
    payloadKind: 'text',
    payload: (n) => 'p'.repeat(n % 5) + n,
  },
  'tuple(i32,string)': {
    all: some((i) => [(i >> 3) - 3, 'abcdefgh'[i & 7]]),
    splitAt: [[0], [2, 'd']],
    payloadKind: 'json',
    payload: (n) => ({ n }),
  },
}

interface Clients {
  /** Of a cluster of three replica sets. */
  readonly cluster: Client
  /** Of the same, which does not know of replica sets, so that a node forwards what it asks. */
  readonly plain: Client
  /** Of a server alone, which is known to be right. */
  readonly alone: Client
}

async function open(t: Test): Promise<Clients> {
  const nodes = await startNodes(t, 3, 3, { ioThreads: 1 })
  const server = await start(t, { directory: temporaryDirectory(t) })
  const cluster = await connect(nodes[0]!.url)
  const plain = new Client(await NodeConnection.open(nodes[1]!.url, {}))
  const alone = await connect(server.url)
  t.teardown(() => Promise.all([cluster, plain, alone].map((client) => client.close())))
  return { cluster, plain, alone }
}

async function gather(pages: AsyncIterable<unknown>, most = Number.POSITIVE_INFINITY): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const entry of pages) if (all.push(entry) >= most) break
  return all
}

/** One of many calls, with what came of it in a form that can be compared. */
function anyCall(random: Random, { all, payload }: Keys): (index: Index) => Promise<unknown> {
  const key = () => random.pick(all)
  const keys = Array.from({ length: 1 + random.below(40) }, key)
  const payloads = keys.map(() => payload(random.below(1 << 16)))
  const reverse = random.chance(0.5)
  const [from, to] = [random.below(all.length), random.below(all.length)].sort((a, b) => a - b) as [
    number,
    number,
  ]
  const range = {
    ...(random.chance(0.8) && { from: all[from] }),
    ...(random.chance(0.8) && { to: all[to] }),
    fromExclusive: random.chance(0.3),
    toExclusive: random.chance(0.3),
  }
  const pageSize = 1 + random.below(20)
  const one = random.below(keys.length)
  const calls: ((index: Index<'u32', 'u32'>) => Promise<unknown>)[] = [
    async (index) => {
      const got = await index.getMany(loosely(keys), { sequences: true })
      return keys.map((_, i) => [got.payload(i), got.has(i) && got.sequences![i]])
    },
    async (index) => {
      const got = await index.getAllMany(loosely(keys))
      return keys.map((_, i) => got.of(i))
    },
    async (index) => [...(await index.countMany(loosely(keys)))],
    async (index) => {
      const next = await index.getNextMany(loosely(keys), { reverse })
      return keys.map((_, i) => next.entry(i))
    },
    async (index) => Promise.all(keys.map((each) => index.get(loosely(each)))),
    async (index) => gather(index.entries(loosely({ ...range, reverse, pageSize }))),
    async (index) => gather(index.keys(loosely({ ...range, reverse, pageSize, limit: pageSize * 2 + 1 }))),
    async (index) => gather(index.values(loosely({ ...range, pageSize })), 2 * pageSize),
    async (index) => {
      const ranges = index.ranges(loosely({ from: keys.slice(0, 9), pageSize, reverse }))
      const entries = (await gather(ranges)) as { readonly range: number }[]
      return Array.from({ length: 9 }, (_, i) => entries.filter((entry) => entry.range === i))
    },
    (index) => index.countRanges(loosely([range, { from: keys[0] }, {}])),
    (index) => index.deleteRange(loosely({ ...range, from: all[from], to: all[Math.min(from + 4, 59)] })),
    async (index) => [...(await index.insertMany(loosely(keys), loosely(payloads)))],
    async (index) => [...(await index.putMany(loosely(keys), loosely(payloads)))],
    async (index) => [...(await index.deleteMany(loosely(keys.slice(0, 5))))],
    async (index) => {
      const { seconds: _, ...counts } = await index.bulkLoad(loosely({ keys, payloads }))
      return counts
    },
    async (index) =>
      Promise.all([
        index.put(loosely(keys[one]), loosely(payloads[one])),
        index.get(loosely(keys[one])),
        index.delete(loosely(keys[0])),
        index.getAll(loosely(keys[0])),
        index.insert(loosely(keys[0]), loosely(payloads[0])),
      ]),
    async (index) => {
      const batch = index.batch().put(loosely(keys[one]), loosely(payloads[one]))
      return [...(await batch.insert(loosely(keys[one]), loosely(payloads[0])).write())]
    },
    async (index) => {
      const there = await index.count(loosely(keys[one]))
      const batch = index.batch().expect(loosely(keys[one]), { exists: there > 0 })
      return [...(await batch.put(loosely(keys[one]), loosely(payloads[one])).write())]
    },
    async (index) => {
      const { keys: count, payloads } = await index.stats()
      return { count, payloads }
    },
  ]
  return random.pick(calls) as (index: Index) => Promise<unknown>
}

t.test('a cluster of several replica sets answers as one server does', { skip: lack ?? false }, async (t) => {
  const { cluster, plain, alone } = await open(t)
  const random = new Random(seed)
  for (const [keyType, keys] of Object.entries(KEYS)) {
    const unique = random.chance(0.3)
    const definition = { name: `of ${keyType}`, keyType, payloadKind: keys.payloadKind, unique }
    const [one, other] = [
      await cluster.createIndex(loosely(definition), loosely({ splitAt: keys.splitAt })),
      await alone.createIndex(loosely(definition)),
    ] as [Index, Index]
    for (let step = 0; step < 120; step++) {
      const call = anyCall(random, keys)
      const asked = random.chance(0.5) ? one : plain.index(one.name)
      const [found, wanted] = await Promise.all([call(asked as Index), call(other)])
      if (t.strictSame(found, wanted, `${keyType}, call ${step}`)) continue
      return t.comment(String(call))
    }
  }
})

t.test(
  'what is whole stays on one replica set, and what needs several is refused',
  { skip: lack ?? false },
  async (t) => {
    const { cluster } = await open(t)
    const refused = (call: Promise<unknown>, message: RegExp) =>
      t.rejects(call, { code: 'BAD_REQUEST', message })
    const create = (name: string, splitAt?: number[]) =>
      cluster.createIndex({ name, keyType: 'u32', payloadKind: 'u32', unique: true }, { splitAt })
    const spread = await create('spread', [10, 20])
    const names = Array.from({ length: 6 }, (_, i) => `whole ${i}`)
    for (const name of names) {
      const index = await create(name)
      await index.insertMany([1, 11, 21], [1, 2, 3])
      t.same(await gather(index.keys()), [1, 11, 21])
    }
    const sets = (await cluster.listIndexes()).map(({ placement }) => placement?.length)
    t.same(sets, [3, 1, 1, 1, 1, 1, 1], 'replica set 0 knows all')
    await t.rejects(create('whole 0'), { code: 'INDEX_EXISTS' })
    await refused(create('bad', [20, 10]), /ascending/)
    await refused(create('bad', [1, 2, 3]), /3 replica sets take 2 keys/)
    const wrong = {
      name: 'bad',
      keyType: 'u32',
      payloadKind: 'u32',
      unique: true,
      placement: [{ set: 3 }],
    } as const
    await refused(cluster.createIndex(wrong), /names replica set 3; the cluster has 3/)

    await refused(cluster.write([spread.batch().put(1, 1), spread.batch().put(2, 1)]), /different indexes/)
    await refused(cluster.backUp(), /of one node of the cluster/)
    await refused(cluster.handOver(), /of one node of the cluster/)

    // A snapshot shows one moment of each replica set.
    await spread.putMany([5, 15, 25], [1, 2, 3])
    const snapshot = await cluster.snapshot()
    await spread.putMany([5, 15, 25], [7, 8, 9])
    t.same([...(await spread.getMany([5, 15, 25], { snapshot })).payloads], [1, 2, 3])
    await snapshot.close()

    // Relations are whole.
    const prices = await cluster.createRelation({
      name: 'prices',
      columns: [{ name: 'price', type: 'u32', nullable: false }],
    })
    await prices.append({ price: [1, 2, 3] })
    t.same(await cluster.sql('select sum(price) s from prices').rows(), [{ s: 6n }])

    t.equal(await cluster.dropIndex('spread'), true)
    await t.rejects(spread.get(1), { code: 'UNKNOWN_INDEX' })
    const again = await create('spread', [15])
    t.equal(await again.get(25), undefined)
    await again.putMany([5, 15, 25], [1, 2, 3])
    t.same(await gather(again.keys()), [5, 15, 25])
  },
)

t.test('a client may mean one replica set, whichever node it is told', { skip: lack ?? false }, async (t) => {
  const nodes = await startNodes(t, 2, 2)
  const { url } = nodes[0]!
  const connecting = [connect(url, { set: 0 }), connect(`${url}?set=1`), connect(url)]
  const clients = await Promise.all(connecting)
  t.teardown(() => Promise.all(clients.map((client) => client.close())))
  const [first, second, cluster] = clients as [Client, Client, Client]
  const definition = { name: 'a', keyType: 'u32', payloadKind: 'u32', unique: true } as const
  await cluster.createIndex(definition, { splitAt: [10] })
  await cluster.index('a').putMany([1, 11], [1, 2])
  const parts = await Promise.all([first, second].map((client) => gather(client.index('a').keys())))
  t.same(new Set(parts.map(String)), new Set(['1', '11']))
})

t.test(
  'each replica set goes on with another node, and the client with those that are left',
  { skip: lack ?? false },
  async (t) => {
    const nodes = await startNodes(t, 4, 2)
    const client = await connect(nodes[0]!.url)
    t.teardown(() => client.close())
    const definition = { name: 'a', keyType: 'u32', payloadKind: 'u32', unique: true } as const
    const index = await client.createIndex(definition, { splitAt: [100] })
    const keys = Array.from({ length: 200 }, (_, i) => i)
    await index.putMany(keys, keys)

    // The one that told where the others are, and the owner of the other replica set.
    const [first] = nodes
    const setOf = ({ engine }: RunningServer) => engine.replica.cluster!().set
    const owners = nodes.filter(({ engine }) => engine.replica.figures!().role === 'owner')
    const leaving = [first!, owners.find((owner) => setOf(owner) !== setOf(first!))!]
    let written = 0
    const writing = (async () => {
      for (; written < 60; written++)
        await index.putMany(
          keys,
          keys.map((key) => key + written),
        )
    })()
    for (const node of leaving) await node.close()
    await writing
    t.same(
      [...(await index.getMany(keys)).payloads],
      keys.map((key) => key + 59),
    )
  },
)

t.test('an index is split at other keys while it is used', { skip: lack ?? false }, async (t) => {
  const nodes = await startNodes(t, 3, 3)
  const client = await connect(nodes[0]!.url)
  t.teardown(() => client.close())
  const definition = { name: 'a', keyType: 'u32', payloadKind: 'text', unique: true, ttl: 0 } as const
  const index = await client.createIndex(definition)
  const random = new Random(seed)
  const model = new Map<number, string>()
  const keys = Array.from({ length: 3000 }, (_, i) => i)
  await index.putMany(keys, keys.map(String))
  for (const key of keys) model.set(key, String(key))
  // Some leave while it is split, and some later.
  const [soon, inAnHour] = [Date.now() + 4000, Date.now() + 3_600_000]
  await index.putMany([5000, 5001, 5002], ['soon', 'soon', 'late'], { expireAt: [soon, soon, inAnHour] })
  model.set(5002, 'late')

  let isOver = false
  let calls = 0
  const using = (async () => {
    for (; !isOver; calls++) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      const own = Array.from({ length: 20 }, () => random.below(4000))
      const unique = [...new Set(own)]
      await index.putMany(
        unique,
        unique.map((key) => `${key}, ${calls}`),
      )
      for (const key of unique) model.set(key, `${key}, ${calls}`)
      const [gone = 0] = unique
      t.equal(await index.delete(gone), true)
      model.delete(gone)
      if (calls % 50 === 7) {
        const from = random.below(4000)
        await index.deleteRange({ from, to: from + 20 })
        for (let key = from; key <= from + 20; key++) model.delete(key)
      }
      const read = await index.getMany(unique)
      t.same(
        [...unique.keys()].map((i) => read.payload(i)),
        unique.map((key) => model.get(key)),
      )
    }
  })()
  const placement = async () =>
    (await client.listIndexes()).map(({ name, placement }) => [name, placement?.length])
  await client.splitIndex('a', [1000, 2000])
  t.same(await placement(), [['a', 3]])
  await t.rejects(
    client.splitIndex('a', [5], {
      onProgress: () => {
        throw new Error('enough')
      },
    }),
    { message: /enough/ },
  )
  t.same(await placement(), [['a', 3]], 'nothing is left of what failed')
  await client.splitIndex('a', [1500])
  t.same(await placement(), [['a', 2]])
  await client.createIndex(definition, { ifNotExists: true })
  t.same(await placement(), [['a', 2]], 'it is the one that is there')
  const before = calls
  while (calls < before + 5) await new Promise((resolve) => setTimeout(resolve, 10))
  isOver = true
  await using
  await new Promise((resolve) => setTimeout(resolve, soon - Date.now()))
  t.equal((await index.stats()).expiring, 1)
  const sorted = [...model].sort(([one], [other]) => one - other)
  t.same(
    await gather(index.entries()),
    sorted.map(([key, payload]) => ({ key, payload })),
  )
  t.comment(`${calls} rounds`)

  // There is one at a time.
  const both = await Promise.allSettled([client.splitIndex('a', [500]), client.splitIndex('a', [600])])
  const late = both.find(({ status }) => status === 'rejected')
  t.match(late, { reason: { code: 'INDEX_EXISTS', message: /another split of index "a" is under way/ } })
  t.same(await placement(), [['a', 2]])

  // Ended halfway, it is made good by the next one.
  await client.createIndex({ ...definition, name: 'a ~next' }, { splitAt: [1] })
  const first = await connect(nodes[0]!.url, { set: 0 })
  t.teardown(() => first.close())
  await first.renameIndex('a', 'a ~former')
  t.equal(await client.splitIndex('a', [700]), sorted.length)
  t.same((await client.listIndexes()).length, 1)
  t.same(
    await gather(index.keys()),
    sorted.map(([key]) => key),
  )
  await t.rejects(client.splitIndex('a', [3, 2]), { code: 'BAD_REQUEST', message: /ascending/ })
  await t.rejects(client.splitIndex('none', [3]), { code: 'UNKNOWN_INDEX' })
})
