import t from 'tap'
import { connect, type KeyRange } from '../../../clients/sdk/index.js'
import { start } from '../../src/server/start.js'

const server = await start(t)
const client = await connect(server.url)
t.teardown(() => client.close())

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = []
  for await (const item of items) found.push(item)
  return found
}

t.test('keys without payloads, and payloads without keys, page by page and in reverse', async (t) => {
  await client.createIndex({ name: 'blobs', keyType: 'u64', payloadKind: 'bytes', unique: false })
  const index = client.index<'u64', 'bytes'>('blobs')
  await index.insertMany([3n, 1n, 2n, 1n], ['three', 'one', 'two', 'uno'])
  const texts = async (options: Parameters<typeof index.values>[0]) =>
    (await all(index.values(options))).map((value) => Buffer.from(value).toString())
  t.strictSame(await all(index.keys({ pageSize: 2 })), [1n, 1n, 2n, 3n])
  t.strictSame(await texts({ pageSize: 2 }), ['one', 'uno', 'two', 'three'])
  t.strictSame(await all(index.keys({ to: 2n, reverse: true })), [2n, 1n, 1n])
  t.strictSame(await texts({ from: 1n, fromExclusive: true, reverse: true, limit: 1 }), ['three'])
  const pages = await all(index.keys({ pageSize: 3 }).pages())
  t.strictSame(
    pages.map((page) => [...page.keys]),
    [[1n, 1n, 2n], [3n]],
  )
  t.strictSame(await texts({ after: pages[0].token }), ['three'], 'a token of one goes on in the other')
})

t.test('the entries of ranges and prefixes are counted', async (t) => {
  await client.createIndex({
    name: 'tuples',
    keyType: 'tuple(u32,string)',
    payloadKind: 'u32',
    unique: false,
  })
  const index = client.index<'tuple(u32,string)', 'u32'>('tuples')
  const keys = [
    [7, 'rice'],
    [7, 'tea'],
    [7, 'tea'],
    [8, 'rice'],
    [9, ''],
  ] as [number, string][]
  await index.insertMany(keys, [1, 2, 3, 4, 5])
  const ranges: KeyRange<'tuple(u32,string)'>[] = [
    {},
    { prefix: [7] },
    { from: [7, 'tea'], to: [8] },
    { from: [7, 'tea'], to: [8], toExclusive: true },
    { from: [7, 'tea'], fromExclusive: true },
    { to: [6, 'x'] },
    { prefix: [8] },
    { from: [9], to: [7] },
    {},
  ]
  t.strictSame(await index.countRanges(ranges), [5, 3, 3, 2, 2, 0, 1, 0, 5])
  t.strictSame(await index.countRanges([]), [])
  await index.deleteMany([[7, 'tea']])
  t.strictSame(await index.countRanges([{ prefix: [7] }, {}]), [1, 3])
  t.strictSame(await all(index.keys({ prefix: [8] })), [[8, 'rice']])
  await t.rejects(index.countRanges([{ prefix: [7], from: [7] }]), { code: 'BAD_REQUEST' })
})

t.test('ranges and prefixes are deleted as a whole', async (t) => {
  await client.createIndex({ name: 'names', keyType: 'string', payloadKind: 'u32', unique: false })
  const index = client.index<'string', 'u32'>('names')
  await index.insertMany(['a', 'ab', 'ab', 'b', 'c', 'd'], [1, 2, 3, 4, 5, 6])
  t.equal(await index.deleteRange({ prefix: 'a' }), 3)
  t.equal(await index.deleteRange({ prefix: 'a' }), 0)
  t.equal(await index.deleteRange({ from: 'b', to: 'd', fromExclusive: true, toExclusive: true }), 1)
  t.strictSame(await all(index.keys()), ['b', 'd'])
  await t.rejects(index.deleteRange({ prefix: 'b', to: 'c' }), { code: 'BAD_REQUEST' })
  t.equal(await index.deleteRange({}), 2)
  t.strictSame(await all(index.keys()), [])
})
