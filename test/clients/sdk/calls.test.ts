import t, { type Test } from 'tap'
import { type Client, connect, type IndexDefinition, LIMITS, ResultCode } from '../../../clients/sdk/index.js'
import type { ColumnName } from '../../../protocol/data-request.js'
import { FakeServer } from './fake-server.js'

const numbers = { name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false } as const
const texts = { name: 'texts', keyType: 'u64', payloadKind: 'bytes', unique: false } as const
const rows = { name: 'rows', keyType: 'f64', payloadKind: 'fixed(3)', unique: true } as const

async function open(
  t: Test,
  ...definitions: IndexDefinition[]
): Promise<{ server: FakeServer; client: Client }> {
  const server = new FakeServer()
  await server.start()
  const client = await connect(server.url)
  t.teardown(async () => {
    client.close()
    await server.stop()
  })
  for (const definition of definitions) await client.createIndex(definition)
  return { server, client }
}

const text = (bytes: Uint8Array | undefined) =>
  bytes === undefined ? undefined : new TextDecoder().decode(bytes)

t.test('scans of keys or payloads ask for nothing else', async (t) => {
  const { server, client } = await open(t, numbers)
  const index = client.index<'u32', 'u32'>('numbers')
  await index.putMany([1, 2], [10, 20])
  const taken: number[] = []
  for await (const key of index.keys()) taken.push(key)
  for await (const payload of index.values()) taken.push(payload)
  for await (const { key, payload } of index.entries()) taken.push(key, payload)
  t.strictSame(taken, [1, 2, 10, 20, 1, 10, 2, 20])
  t.match(server.of('scan'), [
    { withoutKeys: false, withoutPayloads: true },
    { withoutKeys: true, withoutPayloads: false },
    { withoutKeys: false, withoutPayloads: false },
  ])
})

t.test('indexes are made, listed, measured and dropped', async (t) => {
  const { client } = await open(t)
  t.equal(client.server.server, 'fake')
  t.equal(await client.createIndex(numbers), client.index('numbers'))
  t.equal(await client.createIndex(numbers, { ifNotExists: true }), client.index('numbers'))
  await t.rejects(client.createIndex(numbers), { code: 'INDEX_EXISTS' })
  t.strictSame(await client.listIndexes(), [numbers])
  t.match(await client.stats(), { indexes: [{ name: 'numbers', payloads: 0 }] })
  t.match(await client.index('numbers').stats(), { name: 'numbers' })
  t.match(await client.index('numbers').definition(), numbers)
  t.match(await client.takeSnapshot('numbers'), [{ index: 'numbers' }])
  t.match(await client.backUp('monday'), { path: '/backups/monday', indexes: 1 })
  t.equal(await client.dropIndex('numbers'), true)
  await t.rejects(client.index('numbers').getMany(Uint32Array.of(1)), {
    code: 'UNKNOWN_INDEX',
    message: /no index "numbers"/,
  })
  await client.createIndex(numbers)
  t.equal(await client.index('numbers').get(1), undefined, 'an index that was missing is asked for again')
})

t.test('typed arrays go in and come out', async (t) => {
  const { client } = await open(t, numbers)
  const index = client.index<'u32', 'u32'>('numbers')
  t.strictSame([...(await index.insertMany(Uint32Array.of(5, 7, 5), Uint32Array.of(50, 70, 51)))], [0, 0, 0])
  const got = await index.getMany(Uint32Array.of(7, 6, 5))
  t.strictSame([got.has(0), got.has(1), got.has(2), got.length], [true, false, true, 3])
  t.strictSame(got.payloads.array, Uint32Array.of(70, 0, 50))
  t.strictSame([got.payload(0), got.payload(1)], [70, undefined])
  const all = await index.getAllMany(Uint32Array.of(5, 6, 7))
  t.strictSame([all.of(0), all.of(1), all.of(2), all.length], [[50, 51], [], [70], 3])
  t.strictSame(await index.countMany(Uint32Array.of(5, 6)), Uint32Array.of(2, 0))
  t.strictSame([...(await index.deleteMany(Uint32Array.of(5, 6)))], [ResultCode.deleted, ResultCode.notFound])
  t.strictSame(await index.countMany([5, 7]), Uint32Array.of(0, 1))
  t.equal((await index.getMany([])).length, 0)
})

t.test('lists, texts and bigints are taken too', async (t) => {
  const { client } = await open(t, texts, rows)
  const index = client.index<'u64', 'bytes'>('texts')
  await index.insertMany([1n, 2, 2n ** 63n], ['eins', new TextEncoder().encode('zwei'), 'drei · 3'])
  t.equal(text(await index.get(2n ** 63n)), 'drei · 3')
  t.strictSame([...(await index.getMany([2, 9, 1])).payloads].map(text), ['zwei', '', 'eins'])
  t.strictSame((await index.getAllMany([1n, 9n])).of(0).map(text), ['eins'])
  await index.insertMany([1n], ['noch eins'])
  t.strictSame([...(await index.deleteMany([1n], { payloads: ['eins'] }))], [ResultCode.deleted])
  t.equal(text(await index.get(1n)), 'noch eins')
  const blob = { bytes: new TextEncoder().encode('abc'), offsets: Uint32Array.of(0, 1, 3) }
  await index.insertMany(BigUint64Array.of(20n, 21n), blob)
  t.equal(text(await index.get(21n)), 'bc')
  const fixed = client.index<'f64', 'fixed(3)'>('rows')
  await fixed.insertMany([-1.5, 2.5], ['abc', Uint8Array.of(1, 2, 3)])
  t.strictSame([...(await fixed.get(2.5))!], [1, 2, 3])
  t.strictSame([...(await fixed.insertMany([2.5], ['xyz']))], [ResultCode.exists])
  t.strictSame([...(await fixed.putMany([2.5], ['xyz']))], [ResultCode.replaced])
})

t.test('what does not fit is refused before it is sent', async (t) => {
  const { client, server } = await open(t, numbers, texts, rows)
  const index = client.index<'u32', 'u32'>('numbers')
  const loose = client.index('numbers')
  await index.definition()
  const before = server.requests.length
  await t.rejects(loose.getMany(Float32Array.of(1)), {
    code: 'WRONG_KEY_TYPE',
    message: /keys are a Float32Array; index "numbers" has u32 keys, a Uint32Array/,
  })
  for (const key of [1.5, -1, 2 ** 32, Number.NaN, 3n])
    await t.rejects(loose.getMany([key]), { code: 'BAD_REQUEST' })
  await t.rejects(index.insertMany([1, 2], [1]), { message: /2 keys came with 1 payloads/ })
  await t.rejects(loose.insertMany([1], new Uint8Array(4)), { message: /given as a Uint32Array/ })
  await t.rejects(index.insertMany([1], [-1]), { code: 'BAD_REQUEST' })
  await t.rejects(index.getMany([1], { deadline: Number.NaN }), { message: /deadline/ })
  t.throws(() => index.entries({ pageSize: 0 }), { code: 'BAD_REQUEST' })
  t.throws(() => index.entries({ limit: -1 }), { code: 'BAD_REQUEST' })
  t.equal(server.requests.length, before)
  await t.rejects(client.index('texts').getMany([2n ** 64n]), { code: 'BAD_REQUEST' })
  await t.rejects(client.index('texts').getMany([-1]), { code: 'BAD_REQUEST' })
  await t.rejects(client.index('texts').insertMany([1n], [1]), { code: 'BAD_REQUEST' })
  await t.rejects(client.index('rows').insertMany([1], ['four']), {
    message: /payload 0 \("four"\).*list of Uint8Arrays or texts of that length/,
  })
})

t.test('a mixed write is applied in its order', async (t) => {
  const { client } = await open(t, numbers, texts)
  const index = client.index<'u32', 'u32'>('numbers')
  const batch = index
    .batch()
    .insert(1, 10)
    .insert(1, 11)
    .delete(1, { payload: 10 })
    .insert(1, 12, { ifExists: 'keep' })
    .put(2, 20)
    .delete(3)
  const { inserted, deleted, exists, notFound } = ResultCode
  t.strictSame([...(await batch.write())], [inserted, inserted, deleted, exists, inserted, notFound])
  t.strictSame((await index.getAllMany([1])).of(0), [11])
  t.strictSame([...(await index.batch().delete(1).delete(2).write())], [deleted, deleted])
  const blobs = client.index<'u64', 'bytes'>('texts')
  await blobs.batch().insert(1n, 'a').delete(1n).insert(1n, 'b').write()
  t.equal(text(await blobs.get(1n)), 'b')
})

t.test('single gets of a turn share a request', async (t) => {
  const { client, server } = await open(t, numbers)
  const index = client.index<'u32', 'u32'>('numbers')
  await index.insertMany([1, 2, 3], [10, 20, 30])
  const keys = Array.from({ length: 100 }, (_, i) => i)
  const payloads = await Promise.all(keys.map((key) => index.get(key)))
  t.strictSame(payloads.slice(0, 5), [undefined, 10, 20, 30, undefined])
  t.equal(server.of('get').length, 1)
  t.equal(server.of('open').length, 1)
  const [bad, good] = await Promise.allSettled([index.get(-1), index.get(3)])
  t.match(bad, { reason: { code: 'BAD_REQUEST' } }, 'a bad key fails alone')
  t.match(good, { value: 30 })
  await client.dropIndex('numbers')
  const gone = await Promise.allSettled([index.get(1), index.get(2)])
  t.match(gone, [{ reason: { code: 'UNKNOWN_INDEX' } }, { reason: { code: 'UNKNOWN_INDEX' } }])
})

t.test('single writes of a turn share a request, and each has its own outcome', async (t) => {
  const { client, server } = await open(t, numbers, rows)
  const index = client.index<'u32', 'u32'>('numbers')
  const outcomes = await Promise.allSettled([
    index.put(1, 10),
    index.insert(1, 11),
    index.insert(1, 12, { ifExists: 'keep' }),
    index.insert(1, 13, { ifExists: 'error' }),
    index.insert(-1, 1),
    index.delete(1, { payload: 10 }),
    index.delete(2),
    index.put(3, 30),
  ])
  t.strictSame(
    outcomes.map((outcome) => ('value' in outcome ? outcome.value : outcome.reason.code)),
    [undefined, true, false, 'KEY_EXISTS', 'BAD_REQUEST', true, false, undefined],
  )
  t.equal(server.of('write').length, 1)
  t.strictSame(await index.getAll(1), [11])
  const unique = client.index<'f64', 'fixed(3)'>('rows')
  await unique.put(1, Uint8Array.of(1, 2, 3))
  t.strictSame([...(await unique.get(1))!], [1, 2, 3])
  t.equal(await unique.insert(1, 'abc'), false)
  t.equal(await unique.delete(Number.NaN), false)
})

t.test('single calls of a turn take effect in their order', async (t) => {
  const { client, server } = await open(t, numbers)
  const index = client.index<'u32', 'u32'>('numbers')
  await index.definition()
  const [none, , first, has, , many, count, , second, all] = await Promise.all([
    index.get(1),
    index.put(1, 10),
    index.get(1),
    index.has(1),
    index.insert(1, 11),
    index.getAllMany([1]),
    index.count(1),
    index.delete(1, { payload: 10 }),
    index.get(1),
    index.getAll(1),
  ])
  t.strictSame(
    [none, first, has, many.of(0), count, second, all],
    [undefined, 10, true, [10, 11], 2, 11, [11]],
  )
  t.strictSame(
    server.requests.slice(-10).map(({ op }) => op),
    ['get', 'write', 'get', 'count', 'write', 'getAll', 'count', 'write', 'get', 'getAll'],
  )
})

t.test('single reads of a kind share a request', async (t) => {
  const { client, server } = await open(t, numbers)
  const index = client.index<'u32', 'u32'>('numbers')
  await index.insertMany([1, 2, 2], [10, 20, 21])
  const next = await Promise.all([1, 2, 3].map((key) => index.getNext(key)))
  t.strictSame(next, [{ key: 2, payload: 20, sequence: next[0]!.sequence }, undefined, undefined])
  t.match(await index.getNext(2, { sequence: next[0]!.sequence }), { key: 2, payload: 21 })
  t.match(await index.getNext(2, { reverse: true }), { key: 1 })
  t.strictSame(await Promise.all([1, 2, 3].map((key) => index.count(key))), [1, 2, 0])
  t.strictSame(await Promise.all([1, 2, 3].map((key) => index.has(key))), [true, true, false])
  t.strictSame([...(await index.hasMany([3, 2, 1]))], [0, 1, 1])
  t.strictSame([server.of('getNext').length, server.of('count').length], [3, 3])
})

t.test('layouts and traversals are sent where they are named', async (t) => {
  const { server, client } = await open(t)
  const layout = { layout: 'full', partitionLevels: 3, linked: true } as const
  const full = { ...numbers, ...layout }
  await client.createIndex(full)
  const texts = { ...full, name: 'texts', keyType: 'string', allocation: 'coalesced' } as const
  await client.createIndex(texts)
  t.strictSame(await client.listIndexes(), [full, texts])
  const index = client.index<'u32', 'u32'>('numbers')
  const named = { strategy: 'speculative', resolution: 'reversed' } as const
  await index.putMany([1, 2], [10, 20], named)
  t.equal((await index.getMany([2], named)).payload(0), 20)
  t.equal((await index.getNextMany([1], named)).key(0), 2)
  await index.batch().insert(3, 30).write(named)
  await index.deleteMany([3], named)
  const explanation = await index.explain([1, 2, 3], { strategy: 'sequential' })
  t.match(explanation, { strategy: 'sequential', batch: 3 })
  for (const op of ['insert', 'get', 'getNext', 'write', 'delete'] as const) {
    t.match(server.of(op), [{ traversal: named }], op)
  }
  await index.getMany([2])
  await index.get(2)
  t.strictSame(
    server.of('get').map(({ traversal }) => traversal),
    [named, undefined, undefined],
  )
})

t.test('scans go from page to page by tokens', async (t) => {
  const { client, server } = await open(t, numbers)
  const index = client.index<'u32', 'u32'>('numbers')
  // Key 4 has many payloads, so that pages end within it.
  const keys = [1, 2, 3, ...Array<number>(10).fill(4), 5, 6]
  await index.insertMany(
    keys,
    keys.map((_, i) => i),
  )
  const payloads = async (options: Parameters<typeof index.entries>[0]) => {
    const found: number[] = []
    for await (const { payload } of index.entries(options)) found.push(payload)
    return found
  }
  const all = keys.map((_, i) => i)
  for (const pageSize of [1, 3, 5, 15, 16]) {
    t.strictSame(await payloads({ pageSize }), all, `pages of ${pageSize}`)
    t.strictSame(await payloads({ pageSize, reverse: true }), all.toReversed(), `backwards`)
  }
  t.strictSame(await payloads({ from: 2, to: 4, limit: 4, pageSize: 3 }), [1, 2, 3, 4])
  t.strictSame(await payloads({ from: 3, fromExclusive: true, to: 5, toExclusive: true, limit: 2 }), [3, 4])
  t.strictSame(await payloads({ from: 7 }), [])
  t.strictSame(await payloads({ limit: 0 }), [])
  const pages = index.entries({ pageSize: 6 }).pages()
  const first = (await pages.next()).value!
  t.strictSame([first.keys, first.length], [Uint32Array.of(1, 2, 3, 4, 4, 4), 6])
  await pages.return(undefined)
  await index.deleteMany([3, 4])
  t.strictSame(await payloads({ after: first.token }), [13, 14], 'a token outlives its entry')
  const scans = server.of('scan').length
  for await (const _ of index.entries({ pageSize: 2 })) break
  t.equal(server.of('scan').length, scans + 1, 'pages that are not wanted are not asked for')
})

t.test('short scans of a turn share a request', async (t) => {
  const { client, server } = await open(t, numbers)
  const index = client.index<'u32', 'u32'>('numbers')
  const keys = Uint32Array.from({ length: 60 }, (_, i) => i)
  await index.putMany(keys, keys)
  const found = async (from: number, pageSize: number) => {
    const seen: number[] = []
    for await (const { key, payload } of index.entries({ from, to: from + 5, limit: 9, pageSize })) {
      t.equal(key, payload)
      seen.push(key)
    }
    return seen
  }
  const expected = [[0, 1, 2, 3, 4, 5], [57, 58, 59], [], [10, 11, 12, 13, 14, 15]]
  t.strictSame(await Promise.all([0, 57, 90, 10].map((from) => found(from, 9))), expected)
  t.equal(server.of('scan').length, 1)
  t.strictSame(await Promise.all([0, 57, 90, 10].map((from) => found(from, 3))), expected, 'of several pages')
  const both = index.entries({ from: 7, limit: 2 })[Symbol.asyncIterator]()
  const steps = await Promise.all([both.next(), both.next(), both.next()])
  t.match(
    steps,
    [{ value: { key: 7 } }, { value: { key: 8 } }, { done: true }],
    'steps that nobody waited for',
  )
})

t.test('getNext continues after a key, or within it', async (t) => {
  const { client } = await open(t, numbers)
  const index = client.index<'u32', 'u32'>('numbers')
  await index.insertMany([10, 20, 20], [1, 2, 3])
  const next = await index.getNextMany([5, 10, 20])
  t.strictSame([next.keys[0], next.keys[1], next.has(2), next.length], [10, 20, false, 3])
  t.strictSame([next.payloads.at(0), next.payloads.at(1)], [1, 2])
  const within = await index.getNextMany([20], { sequences: next.sequences.subarray(1, 2) })
  t.equal(within.payloads.at(0), 3)
  const before = await index.getNextMany([20], { reverse: true })
  t.equal(before.keys[0], 10)
})

t.test('large batches are split, and answered as one', async (t) => {
  const { client, server } = await open(t, numbers)
  const index = client.index<'u32', 'u32'>('numbers')
  await index.insertMany([0, LIMITS.batchItems], [1, 2])
  const keys = Uint32Array.from({ length: LIMITS.batchItems + 3 }, (_, i) => i)
  const got = await index.getMany(keys)
  t.equal(server.of('get').length, 2)
  t.strictSame(
    [got.length, got.payload(0), got.payload(1), got.payload(LIMITS.batchItems)],
    [keys.length, 1, undefined, 2],
  )
  const counts = await index.countMany(keys)
  t.strictSame([counts.length, counts[0], counts[1], counts[LIMITS.batchItems]], [keys.length, 1, 0, 1])
})

t.test('reads whose answer is too large are asked for in smaller parts', async (t) => {
  const { client, server } = await open(t, texts)
  server.replyBytes = 1_000_000
  const index = client.index<'u64', 'bytes'>('texts')
  const keys = BigUint64Array.from({ length: 40 }, (_, i) => BigInt(i))
  await index.insertMany(
    keys,
    Array.from(keys, (key) => new Uint8Array(100_000).fill(Number(key))),
  )
  const got = await index.getMany(keys)
  t.ok(
    Array.from(keys, (_, i) => got.payload(i)!).every(
      (row, i) => row.length === 100_000 && row[99_999] === i,
    ),
  )
  const all = await index.getAllMany(keys)
  t.ok(Array.from(keys, (_, i) => all.of(i)).every(([row], i) => row.length === 100_000 && row[0] === i))
  let seen = 0
  for await (const { key } of index.entries()) t.equal(key, BigInt(seen++))
  t.equal(seen, 40)
  const next = await index.getNextMany(keys)
  t.strictSame([next.length, next.has(38), next.has(39)], [40, true, false])
  t.ok(
    Array.from(keys.subarray(1), (key, i) => next.key(i) === key && next.payloads.at(i)[0] === i + 1).every(
      Boolean,
    ),
  )
  // Places within the keys go with their keys: nothing comes after the first payload of every other key.
  const sequences = Uint32Array.from(keys, (_, i) => (i % 2 === 0 ? next.sequences[0] : 0xffff_ffff))
  const within = await index.getNextMany(keys, { sequences, reverse: true })
  t.strictSame(
    Array.from(keys.subarray(1), (_, i) => within.key(i + 1)),
    Array.from(keys.subarray(1), (key, i) => (i % 2 === 0 ? key : key - 1n)),
  )
  await t.rejects(index.getNextMany(keys, { sequences: sequences.subarray(1) }), {
    message: /40 keys came with 39/,
  })
})

t.test('a scan whose first page does not fit in a reply goes on at the same moment', async (t) => {
  const { server, client } = await open(t, texts)
  const index = client.index<'u64', 'bytes'>('texts')
  await index.insertMany([1n, 2n, 3n, 4n, 5n], Array(5).fill(new Uint8Array(1000)))
  server.replyBytes = 2000
  const keys: bigint[] = []
  for await (const { key } of index.entries({ from: 2n, limit: 4 })) keys.push(key)
  t.strictSame(keys, [2n, 3n, 4n, 5n])
  const asked = server.of('scan').filter(({ limit }) => limit === 2)
  const [alone, first, last] = asked.map(({ version, opensVersion }) => ({ version, opensVersion }))
  t.strictSame(alone, { version: undefined, opensVersion: false }, 'it could have been all')
  t.strictSame([first?.opensVersion, last], [true, { version: first?.version, opensVersion: false }])
  t.type(first?.version, 'number')
})

t.test('a single payload that is kept does not keep its reply', async (t) => {
  const { client } = await open(t, texts)
  const index = client.index<'u64', 'bytes'>('texts')
  const payload = new Uint8Array(1000).fill(7)
  await index.insertMany([1n, 2n, 3n, 4n], [payload, payload, payload, new Uint8Array(100_000)])
  const got = await index.getMany([1n, 2n, 3n, 4n])
  for (const i of [0, 3]) {
    const kept = got.payload(i)!
    t.ok(kept.buffer.byteLength <= 2 * kept.byteLength, `payload ${i}`)
  }
  t.equal(got.payload(3)!.buffer, got.payloads.array.buffer, 'nor is a large one copied')
  for await (const { payload: kept } of index.entries({ to: 3n })) t.equal(kept.buffer.byteLength, 1000)
  t.ok((await index.getAll(1n))[0]!.buffer.byteLength <= 2000)
})

t.test('replies that are no answers to what was asked are refused', async (t) => {
  const { client, server } = await open(t, numbers, texts)
  const index = client.index<'u32', 'u32'>('numbers')
  const blobs = client.index<'u64', 'bytes'>('texts')
  await index.insertMany([1, 1, 2], [10, 11, 20])
  await blobs.insertMany([1n, 2n], ['one', 'two'])
  const page = (of: { entries(): { pages(): AsyncGenerator } }) => of.entries().pages().next()
  const lastOf = async (pages: AsyncIterable<unknown>) => {
    let last: unknown
    for await (const page of pages) last = page
    return last
  }
  const ranges = { from: [1, 2], pageSize: 2 }
  const wrong: Record<string, () => Promise<unknown>> = {
    'found payloads': () => index.getMany([1, 2]),
    'found payloads payloads.offsets': () => blobs.getMany([1n, 2n]),
    'offsets payloads': () => index.getAllMany([1, 2]),
    counts: () => index.countMany([1, 2]),
    'found keys payloads sequences': () => index.getNextMany([1, 2]),
    'offsets keys payloads more tokens': () => page(index),
    'offsets keys payloads payloads.offsets more tokens': () => page(blobs),
    'keys offsets payloads more tokens': () => lastOf(index.ranges(ranges).pages()),
    codes: () => index.deleteMany([1, 3]),
    ' codes': () => index.batch().delete(1).write(),
  }
  for (const [names, call] of Object.entries(wrong)) {
    for (const part of names.trim().split(' ')) {
      const [name, offsets] = part.split('.') as [ColumnName, 'offsets'?]
      server.alter = (columns) => {
        const column = columns[name]!
        const longer = (bytes: Uint8Array | undefined) => new Uint8Array((bytes?.length ?? 0) + 8)
        const altered =
          offsets === undefined
            ? { ...column, type: 'bytes' as const, bytes: longer(column.bytes) }
            : { ...column, offsets: longer(column.offsets) }
        return { ...columns, [name]: altered }
      }
      const message = new RegExp(`reply to \\w+ does not fit the request: .*"${name}"`)
      await t.rejects(call(), { code: 'INTERNAL', message }, `${part} of ${call}`)
    }
  }
  server.alter = ({ offsets, ...others }) => {
    const broken = new Uint8Array(Uint32Array.of(0, 5, 3).buffer)
    return offsets === undefined ? others : { ...others, offsets: { ...offsets, bytes: broken } }
  }
  await t.rejects(index.getAllMany([1, 2]), { code: 'INTERNAL', message: /number 1 of "offsets" has -2/ })
  await t.rejects(index.ranges(ranges).firstPage(), {
    code: 'INTERNAL',
    message: /number 0 of "offsets" has 5 of at most 2/,
  })
})
