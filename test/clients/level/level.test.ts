import t, { type Test } from 'tap'
import { WarpdexLevel } from '../../../clients/level/index.js'
import { connect } from '../../../clients/sdk/index.js'
import { start } from '../../src/server/start.js'

const { url } = await start(t)
const client = await connect(url)
t.teardown(() => client.close())

async function open<V = string>(t: Test, name: string, valueEncoding = 'utf8') {
  const database = new WarpdexLevel<string, V>(url, name, { valueEncoding })
  t.teardown(() => database.close())
  await database.open()
  return database
}

/** Puts keys 0000, 0001 and so on, each with itself as its value. */
async function fill(database: WarpdexLevel, count: number): Promise<[string, string][]> {
  const keys = Array.from({ length: count }, (_, i) => `${i}`.padStart(4, '0'))
  await database.batch(keys.map((key) => ({ type: 'put', key, value: key })))
  return keys.map((key) => [key, key])
}

async function versions() {
  return (await client.stats()).server.versions
}

t.test('a program that was written for classic-level', async (t) => {
  const database = await open<{ born: number }>(t, 'people', 'json')
  await database.put('ada', { born: 1815 })
  await database.batch([
    { type: 'put', key: 'alan', value: { born: 1912 } },
    { type: 'del', key: 'ada' },
  ])
  const found: [string, number][] = []
  for await (const [name, { born }] of database.iterator({ gte: 'a', lt: 'b' })) found.push([name, born])
  t.strictSame(found, [['alan', 1912]])
  await database.clear()
  t.strictSame(await database.keys().all(), [])
})

t.test('what is stored is there for other programs, and in an index for whoever uses the SDK', async (t) => {
  const [one, other] = [await open(t, 'shared'), await open(t, 'shared')]
  await one.put('a', 'ä')
  t.equal(await other.get('a'), 'ä')
  const payload = await client.index<'bytes', 'bytes'>('shared').get(Buffer.from('a'))
  t.equal(Buffer.from(payload!).toString(), 'ä')
})

t.test('an index of any layout is opened, and one of other kinds is refused', async (t) => {
  const definition = { keyType: 'bytes', payloadKind: 'bytes', unique: true } as const
  await client.createIndex({ ...definition, name: 'prefixes', structure: 'prefix' })
  const database = await open(t, 'prefixes')
  await database.put('a', 'b')
  t.equal(await database.get('a'), 'b')
  await client.createIndex({ ...definition, name: 'lists', unique: false })
  await client.createIndex({ ...definition, name: 'numbers', keyType: 'u32' })
  for (const name of ['lists', 'numbers']) {
    const wrong = { code: 'LEVEL_DATABASE_NOT_OPEN', cause: { code: 'WRONG_KEY_TYPE' } }
    await t.rejects(new WarpdexLevel(url, name).open(), wrong)
  }
})

t.test('long iterators keep a version while they are open, and only those', async (t) => {
  const database = await open(t, 'long')
  const all = await fill(database, 600)
  const short = [database.iterator({ limit: 256 }), database.iterator({ lt: '0100' }), database.iterator()]
  await Promise.all(short.slice(0, 2).map((iterator) => iterator.next()))
  const long = short[2]
  t.strictSame(await long.next(), all[0])
  t.match(await versions(), { open: 1 })
  await database.clear()
  t.strictSame(await long.all(), all.slice(1))
  // Answered after the version is closed, for which nobody waits.
  t.equal(await database.get('0000'), undefined)
  t.match(await versions(), { open: 0 })
  await Promise.all(short.map((iterator) => iterator.close()))
})

t.test('a snapshot of another database is refused', async (t) => {
  const [one, other] = [await open(t, 'one'), await open(t, 'other')]
  await Promise.all([one.put('a', '1'), other.put('a', '2')])
  const snapshots = [one.snapshot(), other.snapshot()]
  t.equal(await one.get('a', { snapshot: snapshots[0] }), '1')
  await t.rejects(one.get('a', { snapshot: snapshots[1] }), { code: 'VERSION_GONE' })
})
