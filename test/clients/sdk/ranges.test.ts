import t, { type Test } from 'tap'
import {
  type Client,
  connect,
  type Index,
  type KeyType,
  LIMITS,
  type PayloadKind,
  type RangesOptions,
} from '../../../clients/sdk/index.js'
import { FakeServer } from './fake-server.js'

const numbers = { name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false } as const
const texts = { name: 'texts', keyType: 'u64', payloadKind: 'bytes', unique: false } as const

async function open(t: Test): Promise<{ server: FakeServer; client: Client }> {
  const server = new FakeServer()
  await server.start()
  const client = await connect(server.url)
  t.teardown(async () => {
    client.close()
    await server.stop()
  })
  await client.createIndex(numbers)
  await client.createIndex(texts)
  return { server, client }
}

/** The payloads of all ranges, gathered page by page, and the number of pages. */
async function gather<K extends KeyType, P extends PayloadKind>(
  index: Index<K, P>,
  options: RangesOptions<K>,
) {
  const ranges: { keys: unknown[]; payloads: unknown[] }[] = []
  let pages = 0
  for await (const page of index.ranges(options).pages()) {
    pages++
    for (let i = 0; i < page.ranges; i++) {
      const { keys, payloads } = page.of(i)
      ranges[i] ??= { keys: [], payloads: [] }
      ranges[i].keys.push(...keys)
      ranges[i].payloads.push(...payloads)
    }
  }
  return { ranges, pages }
}

t.test('many ranges are scanned at once, and continued where they have more', async (t) => {
  const { client, server } = await open(t)
  const index = client.index<'u32', 'u32'>('numbers')
  const keys = [1, 2, 3, ...Array<number>(10).fill(4), 5, 6]
  await index.insertMany(
    keys,
    keys.map((_, i) => i),
  )
  const some = index.ranges({ from: [1, 9, 4, 5], to: [3, 9, 4, 7], pageSize: 3 })
  const pages = some.pages()
  const first = (await pages.next()).value!
  t.strictSame([first.ranges, first.length], [4, 8])
  t.strictSame(first.offsets, Uint32Array.of(0, 3, 3, 6, 8))
  t.strictSame(first.keys, Uint32Array.of(1, 2, 3, 4, 4, 4, 5, 6))
  t.strictSame(first.of(2).keys, Uint32Array.of(4, 4, 4))
  t.strictSame(first.of(3).payloads.array, Uint32Array.of(13, 14))
  t.strictSame(first.of(1).length, 0)
  t.equal(first.of(0).keys.buffer, first.keys.buffer, 'entries of a range are views')
  t.strictSame(
    [0, 1, 2, 3].map((i) => first.more(i)),
    [false, false, true, false],
  )
  const second = (await pages.next()).value!
  t.strictSame([second.ranges, second.offsets], [4, Uint32Array.of(0, 0, 0, 3, 3)])
  t.strictSame([...second.of(2).payloads], [6, 7, 8])
  const [, continuation] = server.of('scan')
  t.equal(continuation.columns.tokens?.bytes.length, 8, 'only the unfinished range is asked for again')
  const entries: unknown[] = []
  for await (const { range, key, payload } of some) entries.push([range, key, payload])
  t.strictSame(
    entries,
    [0, 1, 2, 3, 4, 5]
      .map((i) => [i < 3 ? 0 : 2, Math.min(i + 1, 4), i])
      .concat(
        [
          [3, 5, 13],
          [3, 6, 14],
        ],
        [6, 7, 8, 9, 10, 11, 12].map((i) => [2, 4, i]),
      ),
    'entries of all pages, and another loop starts anew',
  )
  t.equal((await some.firstPage()).length, 8)

  const bounds = { from: [1, 3, 4], to: [4, 4, 6] }
  const payloads = async (options: Omit<RangesOptions<'u32'>, 'pageSize'>) => {
    const { ranges } = await gather(index, { ...options, pageSize: 2 })
    return ranges.map((range) => range.payloads)
  }
  const within = (low: number, high: number) =>
    keys.flatMap((key, i) => (key >= low && key <= high ? [i] : []))
  t.strictSame(await payloads(bounds), [within(1, 4), within(3, 4), within(4, 6)])
  t.strictSame(
    await payloads({ ...bounds, reverse: true }),
    [within(1, 4), within(3, 4), within(4, 6)].map((range) => range.reverse()),
  )
  t.strictSame(await payloads({ ...bounds, fromExclusive: true, toExclusive: true }), [
    within(2, 3),
    [],
    within(5, 5),
  ])
  t.strictSame(await payloads({ from: Uint32Array.of(5, 2) }), [within(5, 9), within(2, 9)])
  t.strictSame(await payloads({ to: Uint32Array.of(5, 2), reverse: true }), [
    within(0, 5).reverse(),
    within(0, 2).reverse(),
  ])
  t.equal((await index.ranges({ from: [], pageSize: 1 }).firstPage()).ranges, 0)
})

t.test('ranges and limits over that of a request are split', async (t) => {
  const { client, server } = await open(t)
  const index = client.index<'u32', 'u32'>('numbers')
  await index.insertMany([1, 2, 3], [10, 20, 30])
  const pageSize = LIMITS.scanEntries / 2
  const { ranges, pages } = await gather(index, { from: [1, 2, 3, 4, 1], to: [1, 3, 3, 9, 3], pageSize })
  t.strictSame(
    ranges.map(({ keys }) => keys),
    [[1], [2, 3], [3], [], [1, 2, 3]],
  )
  t.equal(pages, 1)
  t.strictSame(
    server.of('scan').map(({ columns }) => columns.from?.bytes.length),
    [8, 8, 4],
  )
  const split = await gather(index, { from: [1, 2, 3], pageSize: 1 })
  t.strictSame(
    split.ranges.map(({ payloads }) => payloads),
    [[10, 20, 30], [20, 30], [30]],
  )
  t.equal(split.pages, 3)
})

t.test('ranges whose payloads are too large for a frame come in smaller parts', async (t) => {
  const { client, server } = await open(t)
  server.replyBytes = 350_000
  const index = client.index<'u64', 'bytes'>('texts')
  const keys = BigUint64Array.from({ length: 20 }, (_, i) => BigInt(i))
  await index.insertMany(
    keys,
    Array.from(keys, (key) => new Uint8Array(100_000).fill(Number(key))),
  )
  const from = BigUint64Array.of(0n, 18n, 5n)
  const { ranges } = await gather(index, { from, to: BigUint64Array.of(9n, 30n, 5n), pageSize: 8 })
  t.strictSame(
    ranges.map((range) => range.keys.map(Number)),
    [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [18, 19], [5]],
  )
  for (const { keys, payloads } of ranges) {
    t.equal(payloads.length, keys.length)
    t.ok(
      payloads.every(
        (row, i) => row instanceof Uint8Array && row.length === 100_000 && row[99_999] === Number(keys[i]),
      ),
    )
  }
  const part = (await index.ranges({ from: [3n, 7n], pageSize: 1 }).firstPage()).of(1).payloads
  t.strictSame([part.length, part.at(0)[0], part.offsets?.length], [1, 7, 2])
})

t.test('ranges that make no sense are refused before they are sent', async (t) => {
  const { client, server } = await open(t)
  const index = client.index<'u32', 'u32'>('numbers')
  await index.definition()
  const before = server.requests.length
  t.throws(() => index.ranges({ pageSize: 1 }), { code: 'BAD_REQUEST', message: /from, to or both/ })
  await t.rejects(index.ranges({ from: [1, 2], to: [3], pageSize: 1 }).firstPage(), {
    code: 'BAD_REQUEST',
    message: /2 from keys came with 1 to keys/,
  })
  for (const pageSize of [0, 1.5, Number.NaN, LIMITS.scanEntries + 1]) {
    t.throws(() => index.ranges({ from: [1], pageSize }), { code: 'BAD_REQUEST', message: /page/ })
  }
  await t.rejects(
    client
      .index('numbers')
      .ranges({ from: Float64Array.of(1), pageSize: 1 })
      .firstPage(),
    {
      code: 'WRONG_KEY_TYPE',
    },
  )
  const late = index.ranges({ from: [1], pageSize: 1, deadline: 0 })
  await t.rejects(late.firstPage(), { code: 'DEADLINE_EXCEEDED' })
  t.equal(server.requests.length, before)
})
