import t, { type Test } from 'tap'
import {
  type Client,
  connect,
  type Index,
  type Key,
  LIMITS,
  ResultCode,
  type TupleType,
  type VariableKeyType,
} from '../../../clients/sdk/index.js'
import { TupleEncoder } from '../../../protocol/tuple-key.js'
import { isTupleKeyType, tupleParts } from '../../../protocol/types.js'
import { VARIABLE_KEY_TYPES } from '../../key-space.js'
import { Random, seedOfRun } from '../../random.js'
import { start } from '../../src/server/start.js'

const server = await start(t)
const client = await connect(server.url)
t.teardown(() => client.close())

function create<const K extends VariableKeyType>(
  name: string,
  keyType: K & TupleType<K>,
  through: Client = client,
): Promise<Index<K, 'u32'>> {
  return through.createIndex<K, 'u32'>({ name, keyType, payloadKind: 'u32', unique: false })
}

async function payloads(scan: AsyncIterable<{ readonly payload: number }>): Promise<number[]> {
  const found: number[] = []
  for await (const { payload } of scan) found.push(payload)
  return found
}

t.test('texts as keys', async (t) => {
  const index = await create('texts', 'string')
  const keys = ['', 'a', 'ab', 'a\0', 'é', 'z', '日本', '\u{1f701}', '\ufeffa']
  t.same(
    [
      ...(await index.insertMany(
        keys,
        keys.map((_, i) => i),
      )),
    ],
    keys.map(() => ResultCode.inserted),
  )
  const got = await index.getMany(['ab', 'b', ''])
  t.same([got.payload(0), got.payload(1), got.payload(2)], [2, undefined, 0])
  t.same(await Promise.all(['é', 'y', ''].map((key) => index.get(key))), [4, undefined, 0])
  t.same([...(await index.countMany(['a', 'x']))], [1, 0])
  const pages = []
  for await (const page of index.entries({ pageSize: 4 }).pages()) pages.push(page)
  t.same(
    pages.flatMap((page) => [...page.keys]),
    ['', 'a', 'a\0', 'ab', 'z', 'é', '日本', '\ufeffa', '\u{1f701}'],
  )
  t.equal(pages[1].key(1), 'é')
  const { bytes, offsets } = pages[0].keys.subarray(1, 4)
  t.same(
    [...(await index.getMany({ bytes, offsets })).payloads],
    [1, 3, 2],
    'keys that came back go in again',
  )
  t.same(await payloads(index.entries({ after: pages[0].token })), [5, 4, 6, 8, 7])
  t.same(await payloads(index.entries({ from: 'a', to: 'z', toExclusive: true })), [1, 3, 2])
  t.same(await payloads(index.entries({ from: 'a', to: 'z', reverse: true, limit: 2 })), [5, 2])
  const next = await index.getNextMany(['a', 'zz', '\u{1f701}'])
  t.same([next.has(0), next.key(0), next.key(1), next.has(2)], [true, 'a\0', 'é', false])
  t.same([...(await index.deleteMany(['a', 'none']))], [ResultCode.deleted, ResultCode.notFound])
  t.same([...(await index.batch().insert('neu', 1).put('z', 2).delete('ab').write())], [0, 1, 3])
})

t.test('a prefix is a range', async (t) => {
  const index = await create('prefixes', 'string')
  const keys = ['a/', 'a/1', 'a/2', 'a0', 'a', 'b', 'é1', 'é2', 'ê']
  await index.insertMany(
    keys,
    keys.map((_, i) => i),
  )
  t.same(await payloads(index.entries({ prefix: 'a/' })), [0, 1, 2])
  t.same(await payloads(index.entries({ prefix: 'a', reverse: true, pageSize: 2 })), [3, 2, 1, 0, 4])
  t.same(await payloads(index.entries({ prefix: 'é' })), [6, 7])
  t.equal((await payloads(index.entries({ prefix: '' }))).length, keys.length)
  t.same(await payloads(index.entries({ prefix: 'c' })), [])
  await t.rejects(payloads(index.entries({ prefix: 'a', from: 'a' })), {
    code: 'BAD_REQUEST',
    message: /not both/,
  })

  const raw = await create('raw', 'bytes')
  const blobs = [[], [255], [255, 255], [254, 255], [254, 255, 255, 1], [255, 255, 7]]
  await raw.insertMany(
    blobs.map((blob) => Uint8Array.from(blob)),
    blobs.map((_, i) => i),
  )
  t.same(await payloads(raw.entries({ prefix: Uint8Array.of(255) })), [1, 2, 5])
  t.same(await payloads(raw.entries({ prefix: Uint8Array.of(255, 255) })), [2, 5])
  t.same(await payloads(raw.entries({ prefix: Buffer.of(254, 255) })), [3, 4])
  t.same(await payloads(raw.entries({ prefix: new Uint8Array() })), [0, 3, 4, 1, 2, 5])

  await client.createIndex({ name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false })
  const prefix: object = { prefix: 7 }
  await t.rejects(payloads(client.index<'u32', 'u32'>('numbers').entries(prefix)), {
    message: /have no prefix/,
  })
})

t.test('tuples as keys, and leading parts as ends of ranges', async (t) => {
  const index = await create('sales', 'tuple(u32,string,i64)')
  const keys: Key<'tuple(u32,string,i64)'>[] = [
    [1, 'de', -5n],
    [1, 'de', 7n],
    [1, 'd', 0n],
    [1, '', 0n],
    [2, 'de', 0n],
    [2 ** 32 - 1, 'fr', 0n],
    [2 ** 32 - 1, 'fr\0', -1n],
  ]
  await index.insertMany(
    keys,
    keys.map((_, i) => i),
  )
  const page = (await index.entries().pages().next()).value
  t.same(
    [...(page?.keys ?? [])],
    [3, 2, 0, 1, 4, 5, 6].map((i) => keys[i]),
  )
  t.same(await payloads(index.entries({ prefix: [1] })), [3, 2, 0, 1])
  t.same(await payloads(index.entries({ prefix: [1, 'de'] })), [0, 1])
  t.same(await payloads(index.entries({ prefix: [1, 'de', 7n] })), [1])
  t.same(await payloads(index.entries({ prefix: [2 ** 32 - 1] })), [5, 6])
  t.same(await payloads(index.entries({ prefix: [] })), [3, 2, 0, 1, 4, 5, 6])
  t.same(await payloads(index.entries({ from: [1, 'de'], to: [2] })), [0, 1, 4])
  t.same(
    await payloads(index.entries({ from: [1, 'de'], to: [2], fromExclusive: true, toExclusive: true })),
    [],
  )
  t.same(await payloads(index.entries({ from: [1, 'd'], fromExclusive: true, to: [1] })), [0, 1])
  t.same(await payloads(index.entries({ to: [2 ** 32 - 1] })), [3, 2, 0, 1, 4, 5, 6])
  t.same(await payloads(index.entries({ from: [2 ** 32 - 1], fromExclusive: true })), [])
  t.equal(await index.get([2, 'de', 0n]), 4)
  const wrong: [readonly (number | bigint | string)[], RegExp][] = [
    [[1, 'de'], /\[1, "de"\] is not of type tuple/],
    [[1, 'de', 1n, 1], /key 0 has 4 parts; the type has 3/],
    [[-1, 'de', 1n], /-1 is not of type u32, which part 0/],
    [[1, 'a\ud800', 1n], /is not of type string, which part 1/],
  ]
  for (const [key, message] of wrong) {
    // Callers without types can send such keys.
    const given = [key] as unknown as Key<'tuple(u32,string,i64)'>[]
    await t.rejects(index.getMany(given), { code: 'BAD_REQUEST', message })
  }
  const pages = index
    .ranges({
      from: [[1, 'de'], [2], [5]],
      to: [[1], [2 ** 32 - 1], [6]],
      pageSize: 2,
    })
    .pages()
  const ranges = (await pages.next()).value!
  t.same([...ranges.offsets], [0, 2, 4, 4])
  t.same(
    [0, 1, 2].map((i) => ranges.more(i)),
    [false, true, false],
  )
  t.same(ranges.of(1).key(0), keys[4])
  t.same([...(await pages.next()).value!.of(1).payloads], [6])
})

t.test('keys that cannot be are refused before they are sent', async (t) => {
  const texts = client.index<'string', 'u32'>('texts')
  const raw = client.index<'bytes', 'u32'>('raw')
  const longest = 'é'.repeat(LIMITS.keyBytes / 2)
  t.same([...(await texts.insertMany([longest, `${longest.slice(0, -1)}è`], [1, 2]))], [0, 0])
  t.same(await payloads(texts.entries({ prefix: longest.slice(0, -1) })), [2, 1])
  await t.rejects(texts.getMany(['', `${longest}a`]), { code: 'TOO_LARGE', message: /key 1 has 4097 bytes/ })
  await t.rejects(texts.getMany(['a\ud800']), { code: 'BAD_REQUEST', message: /is not of type string/ })
  await t.rejects(client.index('texts').getMany([1]), {
    code: 'BAD_REQUEST',
    message: /1 is not of type string/,
  })
  await t.rejects(client.index('raw').getMany(['a']), {
    code: 'BAD_REQUEST',
    message: /"a" is not of type bytes/,
  })
  await t.rejects(client.index('raw').getMany(Uint32Array.of(1)), {
    code: 'WRONG_KEY_TYPE',
    message: /offsets/,
  })
  await t.rejects(raw.getMany({ bytes: new Uint8Array(1), offsets: Uint32Array.of(0, 2) }), {
    code: 'BAD_REQUEST',
  })
  const notText = { bytes: Uint8Array.of(255), offsets: Uint32Array.of(0, 1) }
  await t.rejects(texts.getMany(notText), { code: 'BAD_REQUEST', message: /key 0 is not of type string/ })
})

t.test('an index that was made anew with other keys says so', async (t) => {
  const index = await create('changing', 'string')
  await index.insertMany(['a'], [1])
  const other = await connect(server.url)
  t.teardown(() => other.close())
  await other.dropIndex('changing')
  const pairs = await create('changing', 'tuple(u32,u32)', other)
  await pairs.insertMany([[1, 2]], [3])
  const message = /it had string keys and u32 payloads, and has tuple\(u32,u32\) keys and u32 payloads now$/
  await t.rejects(index.getMany(['a']), { code: 'INDEX_CHANGED', message })
  t.equal((await index.definition()).keyType, 'tuple(u32,u32)')
})

t.test('batches over the limits of a frame are split in order', { timeout: 120_000 }, async (t) => {
  const index = await create('large', 'bytes')
  const count = 20_000
  const bytes = new Uint8Array(count * LIMITS.keyBytes)
  const offsets = Uint32Array.from({ length: count + 1 }, (_, i) => i * LIMITS.keyBytes)
  const view = new DataView(bytes.buffer)
  for (let i = 0; i < count; i++) view.setUint32((i + 1) * LIMITS.keyBytes - 4, i)
  t.ok(bytes.length > LIMITS.frameBytes)
  const keys = { bytes, offsets }
  const payloads = Uint32Array.from({ length: count }, (_, i) => i)
  const last = [bytes.subarray(offsets[count - 1])]
  const [codes, got, removed] = await Promise.all([
    index.insertMany(keys, payloads),
    index.getMany(keys),
    index.deleteMany(last),
  ])
  t.equal(codes.length, count)
  t.ok(codes.every((code) => code === ResultCode.inserted))
  t.strictSame([...removed], [ResultCode.deleted])
  t.ok(got.has(count - 1))
  t.equal(got.payloads.array.length, count)
  t.ok(got.payloads.array.every((payload, i) => payload === i))
  let seen = 0
  for await (const page of index.entries({ pageSize: count }).pages()) {
    t.ok(page.length < count, 'a page that does not fit is made smaller')
    t.equal(view.getUint32(offsets[seen + 1] - 4), page.payloads.at(0))
    seen += page.length
  }
  t.equal(seen, count - 1)
})

/** What the order of keys is compared by: their bytes. */
function orderOf(keyType: VariableKeyType, key: Key<VariableKeyType>): string {
  if (typeof key === 'string') return Buffer.from(key).toString('latin1')
  if (key instanceof Uint8Array) return Buffer.from(key).toString('latin1')
  const encoder = new TupleEncoder(isTupleKeyType(keyType) ? tupleParts(keyType) : [])
  encoder.add(key)
  return Buffer.from(encoder.column().bytes).toString('latin1')
}

function randomKey(random: Random, keyType: VariableKeyType): Key<VariableKeyType> {
  const blob = () => Uint8Array.from({ length: random.below(4) }, () => random.pick([0, 1, 255]))
  const text = () =>
    Array.from({ length: random.below(4) }, () => random.pick(['\0', 'a', 'é', '🜁'])).join('')
  if (keyType === 'string') return text()
  if (!isTupleKeyType(keyType)) return blob()
  return tupleParts(keyType).map((part) => {
    if (part === 'string') return text()
    if (part === 'bytes') return blob()
    if (part.endsWith('64') && part !== 'f64') return BigInt(random.below(3))
    return random.below(3)
  })
}

async function compare(t: Test, random: Random, keyType: VariableKeyType): Promise<void> {
  const name = `random ${keyType}`
  await client.createIndex({ name, keyType, payloadKind: 'bytes', unique: false })
  const index = client.index<VariableKeyType, 'bytes'>(name)
  const pool = Array.from({ length: 40 }, () => randomKey(random, keyType))
  const keys = Array.from({ length: 150 }, () => random.pick(pool))
  await index.insertMany(
    keys,
    keys.map((_, i) => `payload ${i}`),
  )
  const entries = keys
    .map((key, i) => ({ order: orderOf(keyType, key), key, i }))
    .sort((a, b) => (a.order === b.order ? a.i - b.i : a.order < b.order ? -1 : 1))
  const seen: unknown[] = []
  for await (const { key, payload } of index.entries({ pageSize: 17 })) {
    seen.push([key, Buffer.from(payload).toString()])
  }
  t.same(
    seen,
    entries.map(({ key, i }) => [key, `payload ${i}`]),
    'scan',
  )
  const all = await index.getAllMany(pool)
  t.same(
    pool.map((_, i) => all.of(i).map((payload) => Buffer.from(payload).toString())),
    pool.map((key) =>
      keys.flatMap((other, i) => (orderOf(keyType, other) === orderOf(keyType, key) ? [`payload ${i}`] : [])),
    ),
    'getAll',
  )
  const next = await index.getNextMany(pool)
  t.same(
    pool.map((_, i) => (next.has(i) ? next.key(i) : undefined)),
    pool.map((key) => entries.find(({ order }) => order > orderOf(keyType, key))?.key),
    'getNext',
  )
  const ends = pool.slice(0, 20)
  const found = ends.map((): unknown[] => [])
  const ranges = index.ranges({ from: ends, pageSize: 30, fromExclusive: true })
  for await (const { range, key } of ranges) found[range].push(key)
  t.same(
    found,
    ends.map((end) => entries.filter(({ order }) => order > orderOf(keyType, end)).map(({ key }) => key)),
    'scanRanges',
  )
  const batch = index.batch()
  for (const key of pool) batch.delete(key)
  const codes = await batch.write()
  t.ok(codes.every((code) => code === ResultCode.deleted || code === ResultCode.notFound))
  t.same(await payloads(client.index<VariableKeyType, 'u32'>(name).entries()), [])
}

t.test('what is written under random keys comes back in their order', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  for (const [i, keyType] of VARIABLE_KEY_TYPES.entries()) {
    await t.test(keyType, (t) => compare(t, new Random(seed + i), keyType))
  }
})
