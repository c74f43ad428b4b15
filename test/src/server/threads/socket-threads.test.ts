import { once } from 'node:events'
import t from 'tap'
import { WebSocket } from 'ws'
import { connect, ResultCode } from '../../../../clients/sdk/index.js'
import { prefixTrees } from '../../../../src/engine/structures.js'
import { Random, seedOfRun } from '../../../random.js'
import { RawClient } from '../raw-client.js'
import { start } from '../start.js'

const column = (...keys: number[]) => ({
  type: 'u32' as const,
  bytes: new Uint8Array(Uint32Array.from(keys).buffer),
})
const blob = (...values: number[]) => ({ ...column(...values), type: 'bytes' as const })
const numbers = { op: 'createIndex', index: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: true }

// One for all: threads take longer to start than all that is done with them here.
const server = await start(t, { ioThreads: 2 }, { structures: prefixTrees })
const { url } = server

t.test('clients of several threads see one engine', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const clients = await Promise.all(Array.from({ length: 5 }, () => connect(url)))
  await clients[0]!.createIndex({ name: 'many', keyType: 'u32', payloadKind: 'u32', unique: true })
  const indexes = clients.map((client) => client.index<'u32', 'u32'>('many'))
  const model = new Map<number, number>()
  for (let i = 0; i < 60_000; i++) model.set(random.word(), i)
  const keys = Uint32Array.from(model.keys())
  const codes = await indexes[0]!.insert(keys, Uint32Array.from(model.values()))
  t.ok(codes.every((code) => code === ResultCode.inserted))
  const known = [...model.keys()]
  const batches = [1, 3, 8, 100, 5000, 60_000].flatMap((count) => Array.from({ length: 4 }, () => count))
  await Promise.all(
    indexes.flatMap((index) =>
      batches.map(async (count) => {
        const asked = Uint32Array.from({ length: count }, () =>
          random.chance(0.8) ? random.pick(known) : random.word(),
        )
        const result = await index.get(asked)
        for (let i = 0; i < count; i++) {
          if (result.payload(i) !== model.get(asked[i]!)) t.fail(`key ${asked[i]} of ${count}`)
        }
        t.pass(`a get of ${count}`)
      }),
    ),
  )
  const sorted = known.sort((a, b) => a - b)
  const page: number[] = []
  for await (const { key } of indexes[3]!.scan({ pageSize: 20_000 })) page.push(key)
  t.strictSame(page, sorted, 'large replies of scans')
  for (const client of clients) client.close()
})

t.test('requests of a connection take effect in their order', async (t) => {
  const client = await RawClient.connect(t, url)
  await client.ask({ id: 0, op: 'hello', protocol: 1, client: 'me' })
  await client.ask({ id: 1, ...numbers })
  const rounds = 200
  for (let i = 0; i < rounds; i++) {
    client.send({ id: 10 + 2 * i, op: 'get', index: 'numbers' }, { keys: column(7) })
    client.send(
      { id: 11 + 2 * i, op: 'insert', mode: 'replace', index: 'numbers' },
      { keys: column(7), payloads: blob(i) },
    )
  }
  for (let left = 2 * rounds; left > 0; left--) {
    const { id, sections } = await client.reply()
    const round = (id! - 10) >> 1
    if (id! % 2 !== 0) continue
    const found = sections.get('found')!.bytes[0]
    const value = new Uint32Array(Uint8Array.from(sections.get('payloads')!.bytes).buffer)[0]
    if (round === 0) t.equal(found, 0)
    else if (value !== round - 1) t.fail(`round ${round} saw ${value}`)
  }
  t.pass(`${rounds} gets, each between two writes`)
})

t.test('a connection that goes to another thread is the same client as before', async (t) => {
  const client = await RawClient.connect(t, url)
  await client.ask({ id: 0, op: 'hello', protocol: 1, client: 'leaver' })
  await client.ask({ id: 1, ...numbers, ifNotExists: true })
  const insert = { op: 'insert', index: 'numbers', writeId: 1 }
  const columns = { keys: column(77), payloads: blob(1) }
  const first = await client.ask({ id: 2, ...insert }, columns)
  t.strictSame([...first.sections.get('codes')!.bytes], [ResultCode.inserted])
  const burst = 30
  for (let i = 0; i < burst; i++) {
    client.send({ id: 3 + i, op: 'get', index: 'numbers' }, { keys: column(77) })
  }
  for (let i = 0; i < burst; i++) t.equal((await client.reply()).sections.get('found')!.bytes[0], 1)
  const again = await client.ask({ id: 100, ...insert }, columns)
  t.strictSame([...again.sections.get('codes')!.bytes], [ResultCode.inserted], 'remembered, not repeated')
})

t.test('errors come through with their codes, and cancellation reaches the engine', async (t) => {
  const client = await RawClient.connect(t, url)
  await client.ask({ id: 0, op: 'hello', protocol: 1, client: 'me' })
  const unknown = await client.ask({ id: 2, op: 'get', index: 'none' }, { keys: column(1) })
  t.match(unknown.header, { ok: false, error: { code: 'UNKNOWN_INDEX' } })
  const wrong = await client.ask(
    { id: 3, op: 'get', index: 'numbers' },
    { keys: { type: 'u64', bytes: new Uint8Array(8) } },
  )
  t.match(wrong.header, { ok: false, error: { code: 'WRONG_KEY_TYPE' } })
  client.send({ id: 4, op: 'snapshot' })
  client.send({ id: 5, op: 'cancel', target: 4 })
  const answers = [await client.reply(), await client.reply()]
  t.match(answers.find(({ id }) => id === 5)?.header, { ok: true, cancelled: true })
})

t.test('connections come and go, and closing the server ends them all', async (t) => {
  for (let i = 0; i < 20; i++) {
    const socket = new WebSocket(server.url)
    await once(socket, 'open')
    if (i % 2 === 0) socket.terminate()
    else socket.close()
    await once(socket, 'close')
  }
  const health = await fetch(`${server.url.replace('ws', 'http')}/health`)
  t.equal(health.status, 200, 'HTTP is answered beside')
  const clients = await Promise.all(Array.from({ length: 4 }, () => RawClient.connect(t, server.url)))
  const codes = clients.map(async ({ socket }) => {
    const [code] = await once(socket, 'close')
    return code
  })
  await server.close()
  t.strictSame(await Promise.all(codes), [1001, 1001, 1001, 1001])
})
