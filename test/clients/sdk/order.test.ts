import t, { type Test } from 'tap'
import { BatchError, type Client, connect, LIMITS, ResultCode } from '../../../clients/sdk/index.js'
import { start } from '../../src/server/start.js'
import { FakeServer } from './fake-server.js'

const { inserted, deleted, exists } = ResultCode
const { url } = await start(t)
const client = await connect(url)
t.teardown(() => client.close())

/** Rows that take two requests and a bit. */
const LARGE_ROWS = 66
const largeKeys = Uint32Array.from({ length: LARGE_ROWS }, (_, i) => i)
const rowBytes = LIMITS.payloadBytes - 8
const largePayloads = {
  bytes: new Uint8Array(LARGE_ROWS * rowBytes),
  offsets: Uint32Array.from({ length: LARGE_ROWS + 1 }, (_, i) => i * rowBytes),
}
for (const i of largeKeys) largePayloads.bytes.fill(i, i * rowBytes, (i + 1) * rowBytes)

async function blobs(name: string, by: Client = client) {
  await by.createIndex({ name, keyType: 'u32', payloadKind: 'bytes', unique: true })
  return by.index<'u32', 'bytes'>(name)
}

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
}

t.test('nothing overtakes a batch that takes several requests', async (t) => {
  const index = await blobs('overtaken')
  const other = client.index<'u32', 'bytes'>('overtaken')
  await index.definition()
  const before = index.countMany([0, 65])
  const batch = index.insertMany(largeKeys, largePayloads)
  const got = index.getMany([0, 40, 64, 65])
  const removed = other.deleteMany([65])
  const left = index.countMany([0, 65])
  const late = index.insertMany([65], ['late'])
  const dropped = client.dropIndex('overtaken')
  const after = failureOf(index.countMany([1]))
  t.strictSame([...(await before)], [0, 0])
  t.ok((await batch).every((code) => code === inserted))
  t.strictSame(
    Array.from((await got).payloads, (payload) => [payload.length, payload[0], payload.at(-1)]),
    [0, 40, 64, 65].map((i) => [rowBytes, i, i]),
  )
  t.strictSame([...(await removed)], [deleted])
  t.strictSame([...(await left)], [1, 0])
  t.strictSame([...(await late)], [inserted])
  t.equal(await dropped, true)
  t.match(await after, { code: 'UNKNOWN_INDEX' })
})

t.test('single gets come before what is asked for after them', async (t) => {
  const index = await blobs('singles')
  await index.insertMany([1], ['a'])
  const text = (payload: Uint8Array | undefined) => payload && Buffer.from(payload).toString()
  for (const asked of ['for the first time', 'again']) {
    const [first, , second, , third] = await Promise.all([
      index.get(1),
      index.putMany([1], ['b']),
      index.get(1),
      index.deleteMany([1]),
      index.get(1),
      index.insertMany([1], ['a']),
    ])
    t.strictSame([first, second, third].map(text), ['a', 'b', undefined], asked)
    // By then what the index is known to be is known for good.
    await new Promise((resolve) => setImmediate(resolve))
  }
  const [one, dropped] = await Promise.all([index.get(1), client.dropIndex('singles')])
  t.strictSame([text(one), dropped], ['a', true])
})

t.test('a batch that fails midway says how many of its first items are stored', async (t) => {
  const index = await blobs('midway')
  const tooLong = new Uint8Array(LARGE_ROWS * rowBytes + 10)
  const offsets = Uint32Array.from(largePayloads.offsets)
  offsets[LARGE_ROWS] = tooLong.length
  const call = index.insertMany(largeKeys, { bytes: tooLong, offsets })
  const after = index.insertMany([LARGE_ROWS - 1], ['after'])
  const error = await failureOf(call)
  if (!(error instanceof BatchError)) throw error
  t.match(error, { code: 'TOO_LARGE', message: /the first \d+ items of the batch are stored$/ })
  t.ok(error.stored > 0 && error.stored < LARGE_ROWS)
  t.strictSame([...error.codes], Array(error.stored).fill(inserted))
  t.strictSame([...(await after)], [inserted])
  const counts = await index.countMany(largeKeys)
  t.strictSame(
    [...counts],
    Array.from(largeKeys, (key) => (key < error.stored || key === LARGE_ROWS - 1 ? 1 : 0)),
  )
})

t.test('a batch that is given up midway lets others go on, each in its turn', async (t) => {
  const { server, index } = await fake(t)
  await index.definition()
  const control = new AbortController()
  let inserts = 0
  server.intervene = ({ op }) => (op === 'insert' && ++inserts === 2 ? 'hold' : 'none')
  const given = failureOf(index.insertMany(largeKeys, largePayloads, { signal: control.signal }))
  const late = failureOf(index.insertMany(largeKeys, largePayloads, { deadline: 100 }))
  const counted = index.countMany([0, 65])
  const whole = index.insertMany(largeKeys, largePayloads)
  const countedAgain = index.countMany([0, 65])
  await t.rejects(index.countMany([0], { deadline: 1 }), { code: 'DEADLINE_EXCEEDED' })
  t.match(await late, { code: 'DEADLINE_EXCEEDED', stored: 0 })
  while (inserts < 2) await new Promise((resolve) => setTimeout(resolve, 2))
  control.abort()
  const error = await given
  if (!(error instanceof BatchError)) throw error
  t.equal(error.code, 'CANCELLED')
  t.ok(error.stored > 0)
  t.strictSame([...(await counted)], [1, 0])
  t.strictSame(
    [...(await whole)],
    Array.from(largeKeys, (key) => (key < error.stored ? exists : inserted)),
  )
  t.strictSame([...(await countedAgain)], [1, 1])
})

t.test('a batch whose index is made anew midway is not stored in halves', async (t) => {
  const { server, index } = await fake(t)
  let inserts = 0
  server.intervene = ({ op }) => {
    if (op === 'insert' && ++inserts === 2) server.remake('blobs')
    return 'none'
  }
  const error = await failureOf(index.insertMany(largeKeys, largePayloads))
  t.match(error, { code: 'INDEX_CHANGED', name: 'BatchError', stored: 0, message: /does not go on in it/ })
  inserts = 1
  t.equal(
    (await index.insertMany(largeKeys, largePayloads)).length,
    LARGE_ROWS,
    'refused at once, it is sent again',
  )
})

t.test('closing waits for what is under way, with all that follows from it', async (t) => {
  const name = 'closing'
  await blobs(name)
  for (const close of [(one: Client) => one.close(), (one: Client) => one[Symbol.asyncDispose]()]) {
    const other = await connect(url)
    const index = other.index<'u32', 'bytes'>(name)
    // What the index is has yet to be asked for.
    const single = index.get(5)
    async function* slowly() {
      yield { keys: [100], payloads: ['a'] }
      await new Promise((resolve) => setTimeout(resolve, 50))
      yield { keys: [101], payloads: ['b'] }
    }
    const load = index.bulkLoad(slowly())
    const [written, scan] = [
      index.insertMany(largeKeys, largePayloads),
      index.entries({ pageSize: 1 })[Symbol.asyncIterator](),
    ]
    const first = scan.next()
    let done = 0
    for (const call of [single, load, written, first]) void call.then(() => done++)
    await close(other)
    t.equal(done, 4)
    t.match(await load, { rows: 2 })
    t.equal((await written).length, LARGE_ROWS)
    await t.rejects(scan.next(), { code: 'CANCELLED' }, 'a page that is asked for later is a new call')
    await t.rejects(index.getMany([1]), { code: 'CANCELLED', message: /the client was closed/ })
    t.equal(await other.closed, undefined)
    await other.close()
  }
})

async function fake(t: Test) {
  const server = new FakeServer()
  await server.start()
  const client = await connect(server.url)
  t.teardown(async () => {
    await client.close()
    await server.stop()
  })
  return { server, client, index: await blobs('blobs', client) }
}
