import t from 'tap'
import { connect, type Index, LoadError } from '../../../clients/sdk/index.js'
import { encodeDataRequest } from '../../../protocol/data-frame.js'
import { type IndexHandle, wireColumn } from '../../../protocol/data-request.js'
import { PROTOCOL_VERSION } from '../../../protocol/frame.js'
import type { OpenedIndex } from '../../../protocol/replies.js'
import type { KeyType, PayloadKind } from '../../../protocol/types.js'
import { RawClient } from '../../src/server/raw-client.js'
import { start } from '../../src/server/start.js'

// Through a thread that listens.
const { url } = await start(t, { ioThreads: 1 })
const client = await connect(url)
const other = await connect(url)
t.teardown(() => Promise.all([client.close(), other.close()]))

interface Types {
  readonly keyType: KeyType
  readonly payloadKind: PayloadKind
}
const SMALL: Types = { keyType: 'u32', payloadKind: 'u32' }
const WIDE: Types = { keyType: 'u32', payloadKind: 'u64' }

/** Drops an index, if it is there, and makes it anew with keys 1 to 3. */
async function remake(name: string, types: Types, first: number): Promise<void> {
  await other.dropIndex(name, { ifExists: true })
  await other.createIndex({ name, ...types, unique: false })
  await other.index(name).insertMany([1, 2, 3], [first, first + 1, first + 2])
}

/** What is right of an index with keys 1 to 3, and what each call says; `show` makes payloads of all kinds texts. */
const CALLS: Readonly<Record<string, (index: Index) => Promise<unknown>>> = {
  get: async (index) => Array.from((await index.getMany([1, 2])).payloads, String),
  single: async (index) => String(await index.get(2)),
  getAll: async (index) => (await index.getAllMany([3])).of(0).map(String),
  count: async (index) => [...(await index.countMany([1, 4]))],
  getNext: async (index) => String((await index.getNextMany([1])).payloads.at(0)),
  scan: async (index) => {
    const seen: string[] = []
    for await (const { payload } of index.entries({ pageSize: 2 })) seen.push(String(payload))
    return seen
  },
  scanRanges: async (index) => {
    const seen: string[] = []
    for await (const { payload } of index.ranges({ from: [1, 3], to: [2, 3], pageSize: 1 }))
      seen.push(String(payload))
    return seen
  },
  explain: async (index) => (await index.explain([1])).batch,
  insert: async (index) => [...(await index.insertMany([9], [9]))],
  delete: async (index) => [...(await index.deleteMany([1, 4]))],
  write: async (index) => [...(await index.batch().delete(2).delete(5).write())],
  bulkLoad: async (index) => (await index.bulkLoad({ keys: [7], payloads: [7] })).inserted,
}

const right = (first: number) => ({
  get: [first, first + 1].map(String),
  single: String(first + 1),
  getAll: [String(first + 2)],
  count: [1, 0],
  getNext: String(first + 1),
  scan: [first, first + 1, first + 2].map(String),
  scanRanges: [first, first + 2, first + 1].map(String),
  explain: 1,
  insert: [0],
  delete: [3, 4],
  write: [3, 4],
  bulkLoad: 1,
})

t.test('a handle goes on with an index that was made anew with the same types', async (t) => {
  const index = client.index('same')
  let first = 100
  await remake('same', SMALL, first)
  await index.definition()
  for (const [name, call] of Object.entries(CALLS)) {
    first += 10
    await remake('same', SMALL, first)
    t.strictSame(await call(index), right(first)[name as keyof ReturnType<typeof right>], name)
  }
  await remake('same', SMALL, 200)
  const [a, codes, b, count] = await Promise.all([
    index.get(1),
    index.putMany([1], [7]),
    index.get(1),
    index.countMany([1, 2]),
  ])
  t.strictSame([a, [...codes], b, [...count]], [200, [1], 7, [1, 1]], 'in the order of the calls')
})

t.test('of an index that has other types now a handle says so once, and then goes on', async (t) => {
  const index = client.index('other')
  let types = SMALL
  let first = 1000
  await remake('other', types, first)
  await index.definition()
  for (const [name, call] of Object.entries(CALLS)) {
    const was = types.payloadKind
    types = types === SMALL ? WIDE : SMALL
    first += 10
    await remake('other', types, first)
    const message = `index "other" is another one than before: it had u32 keys and ${was} payloads, and has u32 keys and ${types.payloadKind} payloads now`
    await t.rejects(call(index), { code: 'INDEX_CHANGED', message }, name)
    t.strictSame(await call(index), right(first)[name as keyof ReturnType<typeof right>], name)
  }
  await remake('other', { keyType: 'string', payloadKind: 'bytes' }, 1).catch(() => {})
  await t.rejects(index.getMany([1]), {
    code: 'INDEX_CHANGED',
    message: /has string keys and bytes payloads now$/,
  })
  await t.rejects(index.getMany([1]), { code: 'BAD_REQUEST' })
})

t.test('the same client may make it anew', async (t) => {
  await remake('own', SMALL, 1)
  const handle = client.index<'u32', 'u32'>('own')
  t.equal(await handle.get(1), 1)
  await client.dropIndex('own')
  await client.createIndex({ name: 'own', ...WIDE, unique: false })
  await client.index<'u32', 'u64'>('own').insertMany([1], [5n])
  t.equal(await client.index<'u32', 'u64'>('own').get(1), 5n)
  await t.rejects(handle.get(1), { code: 'INDEX_CHANGED' })
  await client.dropIndex('own')
  await t.rejects(handle.get(1), { code: 'UNKNOWN_INDEX' })
})

t.test('what was begun in one index does not go on in another', async (t) => {
  const ended = { code: 'INDEX_CHANGED', message: /what was begun does not go on in it$/ }
  const index = client.index<'u32', 'u32'>('begun')
  await remake('begun', SMALL, 1)
  const pages = index.entries({ pageSize: 1 }).pages()
  const page = (await pages.next()).value
  const ranges = index.ranges({ from: [1, 2], pageSize: 1 }).pages()
  await ranges.next()
  await remake('begun', SMALL, 10)
  await t.rejects(pages.next(), ended)
  t.equal(await index.get(1), 10)
  await t.rejects(ranges.next(), ended)
  const { sequences } = await index.getNextMany([1])
  const late = index.entries({ after: page?.token })
  await remake('begun', SMALL, 20)
  await t.rejects(late.pages().next(), ended)
  await remake('begun', SMALL, 25)
  await t.rejects(index.getNextMany([1], { sequences }), ended)
  const part = { keys: new Uint32Array(2 ** 20 + 1), payloads: new Uint32Array(2 ** 20 + 1) }
  let stored: () => void = () => {}
  const half = new Promise<void>((resolve) => {
    stored = resolve
  })
  async function* source() {
    yield part
    await half
    await remake('begun', SMALL, 30)
    yield part
  }
  const error = await index.bulkLoad(source(), { onProgress: () => stored() }).catch((thrown) => thrown)
  if (!(error instanceof LoadError)) throw error
  t.match(error, { code: 'INDEX_CHANGED', stored: { rows: 0 }, message: /no row of the load is stored/ })
  t.equal((await index.stats()).payloads, 3)
})

t.test('a request names an index by its handle and its generation', async (t) => {
  await remake('shared', SMALL, 1)
  const raw = await RawClient.connect(t, url)
  const hello = { id: 0, op: 'hello', protocol: PROTOCOL_VERSION, client: 'raw' }
  t.match((await raw.ask(hello)).header, { ok: true, protocol: PROTOCOL_VERSION })
  const open = async () =>
    (await raw.ask({ id: 1, op: 'open', index: 'shared' })).header as unknown as OpenedIndex
  const keys = wireColumn('u32', Uint32Array.of(1))
  const refusal = async ({ handle, generation }: IndexHandle) => {
    raw.socket.send(encodeDataRequest({ id: 2, op: 'get', handle, generation, count: 1, columns: { keys } }))
    return (await raw.reply()).header
  }
  const stale = await open()
  await remake('shared', WIDE, 1)
  const now = await open()
  t.notSame([now.handle, now.generation], [stale.handle, stale.generation])
  t.match(await refusal(stale), { ok: false, error: { code: /^(UNKNOWN_INDEX|INDEX_CHANGED)$/ } })
  const other = { ...now, generation: now.generation + 1 }
  t.match(await refusal(other), { ok: false, error: { code: 'INDEX_CHANGED' } })
  t.match(await refusal({ ...now, handle: 1_000_000 }), { ok: false, error: { code: 'UNKNOWN_INDEX' } })
})
