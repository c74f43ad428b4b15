import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { WebSocket } from 'ws'
import { connect, ResultCode } from '../../../../clients/sdk/index.js'
import { encodeFrame } from '../../../../protocol/frame.js'
import { LIMITS } from '../../../../protocol/limits.js'
import { mostIoThreads } from '../../../../src/config/settings.js'
import type { StructureFactory } from '../../../../src/engine/index.js'
import { prefixTrees } from '../../../../src/engine/structures.js'
import { NO_LOG } from '../../../../src/observe/log.js'
import { Random, seedOfRun } from '../../../random.js'
import { scrape, total } from '../../http/scrape.js'
import { serveModel } from '../faults/model-server.js'
import { bareWebSocket, frameHead, Lead } from '../faults/raw-socket.js'
import { RawClient } from '../raw-client.js'
import { start } from '../start.js'

/** Preloaded, has the threads of a server fail. */
const FAULTS = new URL('./faulty-thread.mjs', import.meta.url).href

const column = (...keys: number[]) => ({
  type: 'u32' as const,
  bytes: new Uint8Array(Uint32Array.from(keys).buffer),
})
const blob = (...values: number[]) => ({ ...column(...values), type: 'bytes' as const })
const numbers = { op: 'createIndex', index: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: true }

// One for all: threads take longer to start than all that is done with them here.
const warnings: string[] = []
/** What it explains no other thread can be told of. */
const structures: StructureFactory = {
  ...prefixTrees,
  create: async (device, shape) => {
    const tree = await prefixTrees.create(device, shape)
    const read = tree.read.bind(tree) as (request: { op: string }, columns: never) => Promise<unknown>
    const faulty: typeof read = async (request, columns) =>
      request.op === 'explain' ? { no: () => 'copy' } : read(request, columns)
    return Object.assign(tree, { read: faulty })
  },
}
const log = { ...NO_LOG, warn: (_: object, message: string) => void warnings.push(message) }
const server = await start(t, { ioThreads: Math.min(2, mostIoThreads()) }, { structures, log })
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
  const codes = await indexes[0]!.insertMany(keys, Uint32Array.from(model.values()))
  t.ok(codes.every((code) => code === ResultCode.inserted))
  const known = [...model.keys()]
  const batches = [1, 3, 8, 100, 5000, 60_000].flatMap((count) => Array.from({ length: 4 }, () => count))
  await Promise.all(
    indexes.flatMap((index) =>
      batches.map(async (count) => {
        const asked = Uint32Array.from({ length: count }, () =>
          random.chance(0.8) ? random.pick(known) : random.word(),
        )
        const result = await index.getMany(asked)
        for (let i = 0; i < count; i++) {
          if (result.payload(i) !== model.get(asked[i]!)) t.fail(`key ${asked[i]} of ${count}`)
        }
        t.pass(`a get of ${count}`)
      }),
    ),
  )
  const sorted = known.sort((a, b) => a - b)
  const page: number[] = []
  for await (const { key } of indexes[3]!.entries({ pageSize: 20_000 })) page.push(key)
  t.strictSame(page, sorted, 'large replies of scans')
  for (const client of clients) client.close()
})

t.test('requests of a connection take effect in their order', async (t) => {
  const client = await RawClient.connect(t, url)
  await client.ask({ id: 0, op: 'hello', protocol: 2, client: 'me' })
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

t.test('errors come through with their codes, and cancellation reaches the engine', async (t) => {
  const client = await RawClient.connect(t, url)
  await client.ask({ id: 0, op: 'hello', protocol: 2, client: 'me' })
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

t.test('an answer that cannot be handed to the thread fails its own request only', async (t) => {
  const clients = await Promise.all(Array.from({ length: 4 }, () => RawClient.connect(t, url)))
  for (let id = 1; id <= 30; id++) {
    for (const client of clients) {
      client.send({ id, op: id % 3 === 0 ? 'explain' : 'get', index: 'numbers' }, { keys: column(id) })
    }
  }
  for (const client of clients) {
    for (let i = 0; i < 30; i++) {
      const { id, header } = await client.reply()
      const expected = id! % 3 === 0 ? { ok: false, error: { code: 'INTERNAL' } } : { ok: true }
      t.match(header, expected)
    }
  }
})

t.test('what has come of a request counts as in flight, also before a hello', async (t) => {
  const socket = await bareWebSocket(t, url)
  socket.write(Buffer.concat([frameHead(Lead.binary, 1_000_000), Buffer.alloc(500_000)]))
  const inFlight = async () => total(await scrape(url), 'warpdex_bytes_in_flight')
  while ((await inFlight()) < 500_000) await setTimeout(20)
  socket.destroy()
  while ((await inFlight()) > 0) await setTimeout(20)
  t.pass('it came and went')
})

t.test('however deep a request is nested, it is answered, and nobody else notices', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const neighbours = await Promise.all(Array.from({ length: 4 }, () => RawClient.connect(t, url)))
  const attackers = await Promise.all(Array.from({ length: 4 }, () => RawClient.connect(t, url)))
  let over = false
  const asking = neighbours.map(async (client) => {
    let rounds = 0
    for (; !over; rounds++) {
      const ids = [0, 1, 2].map((i) => 3 * rounds + i)
      for (const id of ids) client.send({ id, op: 'get', index: 'many' }, { keys: column(id) })
      for (const id of ids) {
        const reply = await client.reply()
        if (reply.id !== id || reply.header.ok !== true) t.fail(`round ${rounds}: ${JSON.stringify(reply)}`)
      }
    }
    return rounds
  })
  const codes = new Set<string>()
  await Promise.all(
    attackers.map(async (client, i) => {
      for (let sent = 0; sent < 250; sent++) {
        // Every power of ten has its share, and what is about as deep as may be.
        const levels = random.chance(0.2)
          ? LIMITS.headerDepth - 3 + random.below(6)
          : Math.round(10 ** (1 + random.below(4001) / 1000))
        client.socket.send(deepQuery(sent, levels, i % 2 === 0))
        const { id, header } = await client.reply()
        const { code } = header.error as { code: string }
        codes.add(code)
        if (id !== null && id !== sent) t.fail(`${id} is answered in the place of ${sent}`)
      }
    }),
  )
  over = true
  t.ok((await Promise.all(asking)).every((rounds) => rounds > 0))
  t.strictSame([...codes].sort(), ['BAD_REQUEST', 'TOO_LARGE'])
  t.strictSame(warnings, [])
})

/** A frame whose query is nested so many levels deep: arrays, or maps and arrays in turns. */
function deepQuery(id: number, levels: number, arraysOnly: boolean): Uint8Array {
  const nested = arraysOnly
    ? Buffer.alloc(levels, 0x91)
    : Buffer.alloc(2 * levels, Uint8Array.of(0x81, 0xa1, 0x61, 0x91))
  const query = Buffer.concat([nested, Uint8Array.of(0xc0)])
  const start = Buffer.from(encodeFrame({ id, op: 'query', query: null }))
  const nil = start.lastIndexOf('query') + 5
  const frame = Buffer.concat([start.subarray(0, nil), query, start.subarray(nil + 1)])
  frame.writeUInt32LE(start.readUInt32LE(0) + query.length - 1, 0)
  return frame
}

t.test('a thread that fails tells its clients, and another one takes its place', async (t) => {
  const folder = t.testdir()
  const fault = join(folder, 'fault')
  const flags = { directory: join(folder, 'data'), ioThreads: 1 }
  const { url, complaints } = await serveModel(t, { flags }, `${FAULTS}?file=${encodeURIComponent(fault)}`)
  const failures = () => complaints().match(/a thread that listens failed: .*/g) ?? []
  const clients = await Promise.all(Array.from({ length: 3 }, () => RawClient.connect(t, url)))
  const codes = clients.map(async ({ socket }) => (await once(socket, 'close'))[0])
  const another = async () => {
    for (;;) {
      try {
        return await (await RawClient.connect(t, url)).ask({ id: 1, op: 'listIndexes' })
      } catch {
        await setTimeout(50)
      }
    }
  }
  writeFileSync(fault, '')
  t.strictSame(await Promise.all(codes), [1011, 1011, 1011])
  t.match((await another()).header, { ok: true }, 'another one takes its place')
  t.match(failures(), [/failed: a fault on purpose; its 3 connections are closed with code 1011/])
  writeFileSync(fault, '')
  while (failures().length < 2) await setTimeout(20)
  t.match((await another()).header, { ok: true })
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
