import t, { type Test } from 'tap'
import {
  type Change,
  type ChangeBatch,
  connect,
  type Index,
  type KeyType,
  type PayloadKind,
  type WatchOptions,
} from '../../../clients/sdk/index.js'
import { LIMITS } from '../../../protocol/limits.js'
import { Random, seedOfRun } from '../../random.js'
import { start } from '../../src/server/start.js'

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
const random = new Random(seed)

const TEXTS = { name: 'texts', keyType: 'string', payloadKind: 'text', unique: false } as const

async function prepared(t: Test, ioThreads = 0) {
  const { url } = await start(t, { ioThreads })
  const client = await connect(url)
  t.teardown(() => client.close())
  return { url, client, texts: await client.createIndex(TEXTS) }
}

/** Batches as long as they say no end. */
async function taken<K extends KeyType, P extends PayloadKind>(
  feed: AsyncIterable<ChangeBatch<K, P>>,
  batches: number,
): Promise<{ changes: Change<K, P>[]; positions: string[] }> {
  const changes: Change<K, P>[] = []
  const positions: string[] = []
  for await (const batch of feed) {
    changes.push(...batch)
    positions.push(batch.position)
    if (positions.length === batches) break
  }
  return { changes, positions }
}

t.test('changes come as they were made, and those that came to nothing do not', async (t) => {
  const { client, texts } = await prepared(t)
  const from = await client.snapshot()
  const all = taken(texts.watch({ from }), 6)
  await texts.batch().insert('a', 'one').insert('a', 'two').insert('b', 'one', { ifExists: 'keep' }).write()
  await texts.insertMany(['b', 'c'], ['two', 'three'], { ifExists: 'keep' })
  await texts.delete('nobody')
  await texts.put('a', 'new')
  await texts.delete('b', { payload: 'one' })
  await texts.delete('c')
  await texts.deleteRange({ from: 'a', toExclusive: true, to: 'b' })
  const { changes, positions } = await all
  t.same(changes, [
    { op: 'insert', key: 'a', payload: 'one' },
    { op: 'insert', key: 'a', payload: 'two' },
    { op: 'insert', key: 'b', payload: 'one' },
    { op: 'insert', key: 'c', payload: 'three' },
    { op: 'put', key: 'a', payload: 'new' },
    { op: 'delete', key: 'b', payload: 'one' },
    { op: 'delete', key: 'c' },
    { op: 'deleteRange', from: 'a', to: 'b', fromExclusive: false, toExclusive: true },
  ])
  const rest = await taken(texts.watch({ from: positions[3]! }), 2)
  t.same(rest.changes, changes.slice(6), 'a feed goes on behind a position')
})

t.test('a feed begins behind what is durable where nothing else is said', async (t) => {
  for (const ioThreads of [0, 1]) {
    const { texts } = await prepared(t, ioThreads)
    await texts.put('a', 'before')
    const feed = texts.watch()
    const first = feed.next()
    // Sent behind the first request of the feed.
    await texts.get('a')
    await texts.put('b', 'after')
    t.same([...((await first).value as Iterable<unknown>)], [{ op: 'put', key: 'b', payload: 'after' }])
    await feed.return()
  }
})

t.test('many feeds that wait hold up no other requests of their client', async (t) => {
  const { texts } = await prepared(t)
  const feeds = Array.from({ length: LIMITS.requestsInFlight + 50 }, () => texts.watch())
  const first = feeds.map((feed) => feed.next())
  for (const key of ['a', 'b', 'c']) await texts.get(key)
  await texts.put('a', 'one')
  for (const next of first) {
    const { value } = await next
    t.same([...(value as Iterable<unknown>)], [{ op: 'put', key: 'a', payload: 'one' }])
  }
  await Promise.all(feeds.map((feed) => feed.return()))
})

t.test('a feed ends with its client, by its signal, and says what has become of its index', async (t) => {
  const { url, client, texts } = await prepared(t)
  const aborting = new AbortController()
  const own = await connect(url)
  const closed = own.index(TEXTS).watch().next()
  closed.catch(() => {})
  const snapshot = await client.snapshot()
  await texts.put('a', 'one')
  const { positions } = await taken(texts.watch({ from: snapshot }), 1)
  const [from] = positions
  const aborted = texts.watch({ from: from!, signal: aborting.signal }).next()
  aborted.catch(() => {})
  const renamed = texts.watch({ from: from! }).next()
  renamed.catch(() => {})
  aborting.abort()
  await t.rejects(aborted, { code: 'CANCELLED' })
  await own.close()
  await closed.catch(() => {})
  await client.createIndex({ ...TEXTS, name: 'others' })
  await client.swapIndexes('texts', 'others')
  await t.rejects(renamed, { code: 'INDEX_CHANGED' })
  await t.rejects(texts.watch({ from: from! }).next(), { code: 'INDEX_CHANGED' })
  const other = client.index('others')
  const waiting = other.watch().next()
  waiting.catch(() => {})
  await other.get('a')
  await client.dropIndex('others')
  await t.rejects(waiting, { code: 'UNKNOWN_INDEX' })
  await t.rejects(texts.watch({ from: 'x' }).next(), { code: 'BAD_REQUEST', message: /is not a position/ })
  t.throws(() => texts.watch({ form: 'x' } as WatchOptions), { code: 'BAD_REQUEST' })
})

/** What somebody knows of an index by its feed. */
class Reader {
  readonly content = new Map<string, string>()
  readonly positions: string[] = []

  async follow(index: Index<'string', 'text'>, signal: AbortSignal): Promise<void> {
    const from = this.positions.at(-1)
    try {
      for await (const batch of index.watch({ from, signal })) {
        for (const change of batch) {
          if (change.op === 'deleteRange') throw new Error('nobody deletes ranges')
          if (change.op === 'delete') this.content.delete(change.key)
          else this.content.set(change.key, change.payload)
        }
        this.positions.push(batch.position)
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
}

t.test('readers have every batch once, over restarts of the server and of their own', async (t) => {
  const directory = t.testdir()
  let server = await start(t, { directory })
  const port = Number(new URL(server.url).port)
  const connected = async () => {
    const client = await connect(server.url)
    t.teardown(() => client.close({ now: true }))
    return client
  }
  const writer = await connected()
  const texts = await writer.createIndex({ ...TEXTS, unique: true })
  const from = await writer.snapshot()
  await texts.put('begun', 'yes')
  const { positions } = await taken(texts.watch({ from }), 1)
  const readers = Array.from({ length: 3 }, () => new Reader())
  for (const reader of readers) reader.positions.push(...positions)
  let stop = new AbortController()
  const followed = async () => {
    const clients = await Promise.all(readers.map(connected))
    return readers.map((reader, i) => reader.follow(clients[i]!.index(TEXTS), stop.signal))
  }
  let following = await followed()
  for (let round = 0; round < 6; round++) {
    const writing = Array.from({ length: 30 }, async () => {
      const key = String(random.below(20))
      await (random.below(4) === 0 ? texts.delete(key) : texts.put(key, String(random.below(1000))))
    })
    // A server that stops refuses some.
    const written = Promise.allSettled(writing)
    if (round % 3 === 1) {
      await server.close()
      server = await start(t, { directory, port })
    }
    if (round % 3 === 2) {
      stop.abort()
      await Promise.all(following)
      stop = new AbortController()
      following = await followed()
    }
    await written
  }
  await texts.put('done', String(seed))
  while (readers.some(({ content }) => content.get('done') === undefined)) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  stop.abort()
  await Promise.all(following)
  const content = new Map<string, string>()
  for await (const { key, payload } of texts.entries()) if (key !== 'begun') content.set(key, payload)
  for (const reader of readers) {
    t.same(new Map([...reader.content].sort()), new Map([...content].sort()))
    t.equal(new Set(reader.positions).size, reader.positions.length, 'no position comes twice')
    t.same(reader.positions, readers[0]!.positions)
  }
})
