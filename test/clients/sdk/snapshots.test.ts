import t, { type Test } from 'tap'
import { connect, type Index } from '../../../clients/sdk/index.js'
import { start } from '../../src/server/start.js'

const KEYS = 50

/** A client of a server that has an index of numbers, each with itself as its payload. */
async function prepared(t: Test) {
  const { url } = await start(t)
  const client = await connect(url)
  t.teardown(() => client.close())
  const numbers = await client.createIndex({
    name: 'numbers',
    keyType: 'u32',
    payloadKind: 'u32',
    unique: false,
  })
  const all = Uint32Array.from({ length: KEYS }, (_, i) => i)
  await numbers.putMany(all, all)
  return { url, client, numbers }
}

async function taken<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

const original = Array.from({ length: KEYS }, (_, i) => i)

t.test('reads that name a snapshot see its moment, whatever is written', async (t) => {
  const { client, numbers } = await prepared(t)
  const texts = await client.createIndex({
    name: 'texts',
    keyType: 'string',
    payloadKind: 'json',
    unique: true,
  })
  // Of the same turn, and so before it.
  void texts.put('a', { n: 1 })
  const snapshot = await client.snapshot({ seconds: 30 })
  await numbers.putMany([1, 2, 3], [10, 20, 30])
  await numbers.insert(4, 40)
  await numbers.deleteRange({ from: 5, to: 9 })
  await texts.put('a', { n: 2 })
  const at = { snapshot }
  t.same(await texts.get('a', at), { n: 1 })
  t.same(await texts.get('a'), { n: 2 })
  t.same(
    await Promise.all([numbers.get(1, at), numbers.get(1), numbers.has(7, at), numbers.has(7)]),
    [1, 10, true, false],
    'calls of a turn do not share requests with those of another moment',
  )
  t.same([await numbers.getAll(4, at), await numbers.getAll(4)], [[4], [4, 40]])
  t.same([await numbers.count(4, at), await numbers.count(4)], [1, 2])
  t.same([(await numbers.getNext(4, at))?.key, (await numbers.getNext(4))?.key], [5, 10])
  t.same([...(await numbers.getMany([1, 7], at)).payloads], [1, 7])
  t.same([...(await numbers.hasMany([1, 7], at))], [1, 1])
  t.same([...(await numbers.countMany([4, 7], at))], [1, 1])
  t.same([...(await numbers.getNextMany([4], at)).keys], [5])
  t.same((await numbers.getAllMany([4], at)).of(0), [4])
  t.same(await numbers.countRanges([{ from: 0, to: 9 }], at), [10])
  t.same(await taken(numbers.keys({ ...at, pageSize: 7 })), original)
  t.same(await taken(numbers.values(at)), original)
  const seen: number[][] = [[], []]
  for await (const { range, key } of numbers.ranges({ from: [0, 5], to: [4, 9], pageSize: 3, ...at }))
    seen[range].push(key)
  t.same(seen, [
    [0, 1, 2, 3, 4],
    [5, 6, 7, 8, 9],
  ])
})

t.test('a scan sees one moment', async (t) => {
  const { client, numbers } = await prepared(t)
  const seen: number[] = []
  for await (const key of numbers.keys({ pageSize: 7 })) {
    seen.push(key)
    if (key % 10 === 0) await Promise.all([numbers.delete(key + 9), numbers.put(1000 + key, 0)])
  }
  t.same(seen, original)
  t.same((await taken(numbers.keys())).length, KEYS)
  t.match(await versions(), { open: 0 }, 'which is given up when it is over')
  for await (const _ of numbers.entries({ pageSize: 3 })) break
  t.match(await versions(), { open: 0 }, 'or left')
  t.same(await taken(numbers.keys({ limit: 5 })), [0, 1, 2, 3, 4])

  async function versions() {
    return (await client.stats()).server.versions
  }
})

t.test('writes that are made after a snapshot are not in it, whether they wait for it or not', async (t) => {
  const { numbers, client } = await prepared(t)
  await numbers.definition()
  const opening = client.snapshot()
  const written = [numbers.putMany([1, 2], [10, 20]), numbers.put(3, 30)]
  const snapshot = await opening
  await Promise.all(written)
  t.same([...(await numbers.getMany([1, 2, 3], { snapshot })).payloads], [1, 2, 3])
})

t.test('the first page of a scan, and what else there is at its moment', async (t) => {
  const { numbers } = await prepared(t)
  await numbers.definition()
  const asked = numbers.keys({ pageSize: 7 }).firstPage()
  void numbers.deleteRange({ from: 0, to: 30 })
  const { page, more, snapshot } = await asked
  t.same([[...page.keys], more], [original.slice(0, 7), true])
  t.same(await taken(numbers.keys({ snapshot, after: page.token })), original.slice(7))
  t.equal(await numbers.get(7, { snapshot }), 7)
  await snapshot?.close()
  const limited = await numbers.keys({ limit: 7 }).firstPage()
  t.match(limited, { more: true, snapshot: undefined }, 'a scan of one page opens nothing')
  const rest = await numbers.keys({ from: 40 }).firstPage()
  t.match(rest, { more: false, snapshot: undefined }, 'nor does one that is at its end')
})

t.test('what is closed, or no snapshot, is refused', async (t) => {
  const { url, client, numbers } = await prepared(t)
  const snapshot = await client.snapshot()
  const other = await connect(url)
  t.teardown(() => other.close())
  const own = await other.snapshot()
  await t.rejects(numbers.get(1, { snapshot: own }), { code: 'VERSION_GONE' }, 'that of another client')
  await snapshot.close()
  await snapshot.close()
  await t.rejects(numbers.get(1, { snapshot }), { code: 'BAD_REQUEST', message: /the snapshot is closed/ })
  await t.rejects(taken(numbers.entries({ snapshot })), { code: 'BAD_REQUEST' })
  const strange = { snapshot: {} } as Parameters<Index<'u32', 'u32'>['get']>[1]
  await t.rejects(numbers.get(1, strange), { code: 'BAD_REQUEST', message: /client\.snapshot\(\) opens/ })
  await t.rejects(client.snapshot({ seconds: 4000 }), { code: 'BAD_REQUEST', message: /from 1 to 3600/ })
})
