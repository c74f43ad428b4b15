import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Section, Sections } from '../../../../protocol/frame.js'
import type { StructureFactory } from '../../../../src/engine/index.js'
import { modelStructures } from '../../../model-structure.js'
import { Random } from '../../../random.js'
import { requestFrame } from '../../../wire.js'
import { u32 } from '../../engine/open-engine.js'
import { scrape, total } from '../../http/scrape.js'
import { RawClient } from '../raw-client.js'
import { start } from '../start.js'
import { serveModel } from './model-server.js'
import { bareWebSocket, closeCode, frameHead, frameOf, Lead } from './raw-socket.js'
import { witness } from './witness.js'

const MIB = 2 ** 20
const numbers = { op: 'createIndex', index: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false }
const keys: Section = { type: 'u32', bytes: u32(1) }

function countingBy(count: () => Promise<Uint32Array>): StructureFactory {
  return {
    ...modelStructures,
    create: async (device, shape) => Object.assign(await modelStructures.create(device, shape), { count }),
  }
}

/** Waits until the server's side of a connection has ended, of which who does not read is not told. */
async function ended(socket: Socket): Promise<number | undefined> {
  const remote = `:${(socket.localPort ?? 0).toString(16).toUpperCase().padStart(4, '0')} 01 `
  while (readFileSync('/proc/net/tcp', 'utf8').includes(remote)) await setTimeout(50)
  return closeCode(socket)
}

/** All that it is sent is pings, and that it is closed. It goes then, lest the test takes as long as the server would wait for that. */
function endOnceClosed(socket: Socket): void {
  socket.on('data', (data: Buffer) => {
    if (data.includes(Lead.close)) socket.end()
  })
}

/** A server whose `count` answers with that many bytes. */
const answering = (bytes: number) => countingBy(async () => new Uint32Array(bytes / 4))

async function createNumbers(t: Test, url: string): Promise<RawClient> {
  const client = await RawClient.connect(t, url)
  t.match((await client.ask({ id: 0, ...numbers })).header, { ok: true })
  return client
}

/** So many requests, as they stand in a socket. */
async function counts(client: RawClient, requests: number): Promise<Buffer> {
  const opened = await client.open('numbers')
  const count = (id: number) => requestFrame({ id, op: 'count', index: 'numbers' }, { keys }, opened)
  return Buffer.concat(Array.from({ length: requests }, (_, id) => frameOf(Lead.binary, count(id))))
}

t.test(
  'clients that never read leave the server its memory',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const limits = {
      requestsInFlight: 8,
      replyBytesQueued: 48 * MIB,
      replyBytesInAll: 128 * MIB,
      stallSeconds: 1,
      slowestBytesPerSecond: 64 * MIB,
    }
    const { child, url } = await serveModel(t, { flags: { directory: t.testdir() }, limits, countBytes: MIB })
    const client = await createNumbers(t, url)
    const peak = () =>
      Number(/^VmHWM:\s*(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024
    const before = peak()
    const requests = await counts(client, 1000)
    const sockets: Socket[] = []
    for (let i = 0; i < 12; i++) {
      const socket = await bareWebSocket(t, url)
      socket.write(requests)
      sockets.push(socket)
    }
    const other = await RawClient.connect(t, url)
    t.match((await other.ask({ id: 1, op: 'listIndexes' })).header, { ok: true }, 'others are served')
    // Twelve thousand replies of a mebibyte would wait. Those that wait for room get it when others end, and each connection ends
    // though it is still not read.
    for (const code of await Promise.all(sockets.map(ended)))
      t.ok(code === undefined || code === 4008, `${code}`)
    t.match((await other.ask({ id: 2, op: 'listIndexes' })).header, { ok: true })
    const grown = peak() - before
    t.ok(grown < 450, `the server grew by ${Math.round(grown)} MiB at most`)
  },
)

t.test('who leaves replies unread for too long is closed, also far below the bound of bytes', async (t) => {
  const limits = { stallSeconds: 0.2, slowestBytesPerSecond: 2 ** 40 }
  const { url, load } = await start(t, {}, { structures: answering(4 * MIB), limits })
  const client = await createNumbers(t, url)
  const [stalled, reading] = [await bareWebSocket(t, url), await RawClient.connect(t, url)]
  await reading.open('numbers')
  stalled.write(await counts(client, 8))
  while (load().replyBytes < MIB) await setTimeout(5)
  for (let i = 0; i < 20; i++)
    t.match((await reading.ask({ id: i, op: 'count', index: 'numbers' }, { keys })).header, { ok: true })
  while (load().replyBytes > 0) await setTimeout(10)
  t.ok([4008, undefined].includes(await closeCode(stalled)), 'it says why to who begins to read')
  while (load().connections > 2) await setTimeout(10)
  t.match(load(), { requests: 0, requestBytes: 0, replyBytes: 0 })
})

t.test('who begins a request and does not end it is closed', async (t) => {
  const limits = { stallSeconds: 0.2, slowestBytesPerSecond: 2 ** 40 }
  const { url, load } = await start(t, {}, { limits })
  const endOfWatch = await witness(t, url, new Random(1))
  const socket = await bareWebSocket(t, url)
  socket.write(Buffer.concat([frameHead(Lead.binary, 10 * MIB), Buffer.alloc(MIB)]))
  endOnceClosed(socket)
  t.equal(await closeCode(socket), 4009)
  t.ok((await endOfWatch()) > 0)
  while (load().connections > 1) await setTimeout(10)
  t.match(load(), { requestBytes: 0 })
})

t.test('many who announce large requests and stop keep nobody out', async (t) => {
  // Their time is short, and all other limits are as by default.
  const limits = { stallSeconds: 0.5 }
  const { url, load } = await start(t, {}, { structures: answering(4 * 2500), limits })
  const client = await createNumbers(t, url)
  t.match((await client.ask({ id: 1, ...numbers, index: 'texts', keyType: 'bytes' })).header, { ok: true })
  const sent = 60 * MIB
  const begun = Buffer.concat([frameHead(Lead.binary, 67_000_000), Buffer.alloc(MIB - 14)])
  const piece = Buffer.alloc(MIB)
  const stalled = await Promise.all(Array.from({ length: 20 }, () => bareWebSocket(t, url)))
  const codes = stalled.map(closeCode)
  for (const socket of stalled) {
    endOnceClosed(socket)
    socket.write(begun)
    for (let left = sent - MIB; left > 0; left -= MIB) socket.write(piece)
  }
  while (load().requestBytes < 900 * MIB && load().connections > 20) await setTimeout(5)
  const metrics = await scrape(url)
  t.ok(total(metrics, 'warpdex_bytes_in_flight') >= 900 * MIB, 'the metric tells')
  const offsets = Array.from({ length: 2501 }, (_, i) => 4096 * i)
  const large: Sections = {
    keys: { type: 'bytes', bytes: new Uint8Array(4096 * 2500) },
    keyOffsets: { type: 'u32', bytes: u32(...offsets) },
  }
  t.match((await client.ask({ id: 2, op: 'count', index: 'texts' }, large)).header, { ok: true })
  t.strictSame(await Promise.all(codes), Array(20).fill(4009))
  while (load().connections > 1) await setTimeout(10)
  t.match(load(), { requests: 0, requestBytes: 0 })
})

t.test('who has vanished is noticed, and who is only silent stays', async (t) => {
  const { url, load } = await start(t, {}, { limits: { pingSeconds: 0.2 } })
  const silent = await RawClient.connect(t, url)
  let pings = 0
  silent.socket.on('ping', () => pings++)
  const vanished = await bareWebSocket(t, url)
  const busy = await bareWebSocket(t, url)
  busy.resume()
  // A request that comes byte by byte is a sign of life, though its sender answers no ping.
  busy.write(frameHead(Lead.binary, 1000))
  const dripping = setInterval(() => busy.write(Buffer.alloc(1)), 50)
  t.teardown(() => clearInterval(dripping))
  while (load().connections > 2) await setTimeout(10)
  vanished.resume()
  await once(vanished, 'close')
  while (pings < 4) await setTimeout(10)
  t.notOk(busy.closed)
  t.match((await silent.ask({ id: 1, op: 'listIndexes' })).header, { ok: true })
})

t.test('who is not read on hears from the server all the same', async (t) => {
  let answer = () => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  const structures = countingBy(async () => {
    await answered
    return new Uint32Array(1)
  })
  const { url } = await start(t, {}, { structures, limits: { requestsInFlight: 1, pingSeconds: 0.2 } })
  const client = await createNumbers(t, url)
  let pings = 0
  client.socket.on('ping', () => pings++)
  const { _socket: stream } = client.socket as unknown as { readonly _socket: Socket }
  stream.write(await counts(client, 2))
  while (pings < 10) await setTimeout(10)
  answer()
  t.match((await client.reply()).header, { ok: true }, 'and its pongs do not end the connection')
})

t.test('large requests of many at once take their turns, and little ones pass', async (t) => {
  const limits = { bytesInAll: MIB / 4, bytesReserved: 64 * 1024 }
  const { url, load } = await start(t, {}, { limits })
  await createNumbers(t, url)
  const endOfWatch = await witness(t, url, new Random(1))
  const large = { type: 'u32', bytes: new Uint8Array(4 * 150_000) } as const
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, load().requestBytes)
  }, 1)
  const clients = await Promise.all(Array.from({ length: 6 }, () => RawClient.connect(t, url)))
  await Promise.all(
    clients.map(async (client) => {
      for (let id = 0; id < 3; id++) client.send({ id, op: 'count', index: 'numbers' }, { keys: large })
      for (let id = 0; id < 3; id++) t.match((await client.reply()).header, { ok: true })
    }),
  )
  clearInterval(timer)
  t.ok((await endOfWatch()) > 0)
  t.ok(most < MIB / 4 + 2 * large.bytes.length + 7 * 2 * 64 * 1024, `${most} bytes at a time`)
})

t.test(
  'past the bound of requests in all each client has one at least, and others are refused',
  async (t) => {
    let release: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const structures = countingBy(async () => {
      await held
      return new Uint32Array(1)
    })
    const { url } = await start(t, {}, { structures, limits: { requestsInAll: 4 } })
    await createNumbers(t, url)
    const [full, other] = await Promise.all([RawClient.connect(t, url), RawClient.connect(t, url)])
    await Promise.all([full.open('numbers'), other.open('numbers')])
    const ask = (id: number) => ({ id, op: 'count', index: 'numbers' }) as const
    for (let id = 1; id <= 6; id++) full.send(ask(id), { keys })
    for (const id of [5, 6])
      t.match((await full.reply()).header, { ok: false, error: { code: 'OVERLOADED' } }, `${id}`)
    other.send(ask(1), { keys })
    t.match(
      (await full.ask({ id: 7, op: 'cancel', target: 4 })).header,
      { cancelled: true },
      'less is always right',
    )
    release()
    for (const id of [1, 2, 3]) t.match(await full.reply(), { id, header: { ok: true } })
    t.match(await other.reply(), { id: 1, header: { ok: true } })
    t.match(await full.reply(), { id: 4 })
    t.match((await full.ask(ask(8), { keys })).header, { ok: true })
  },
)

t.test('who vanishes in the middle of its requests leaves nothing behind', async (t) => {
  const { url, load } = await start(t, {}, { structures: answering(MIB) })
  const client = await createNumbers(t, url)
  const requests = await counts(client, 40)
  for (let round = 0; round < 10; round++) {
    const socket = await bareWebSocket(t, url)
    socket.write(Buffer.concat([requests, frameHead(Lead.binary, MIB), Buffer.alloc(1000)]))
    if (round % 2 === 0) await setTimeout(2)
    socket.resetAndDestroy()
  }
  t.match((await client.ask({ id: 1, op: 'count', index: 'numbers' }, { keys })).header, { ok: true })
  while (load().connections > 1) await setTimeout(10)
  t.match(load(), { requests: 0, requestBytes: 0, replyBytes: 0 })
})

t.test('who does not read does not hold up a stop', async (t) => {
  const limits = { requestsInFlight: 2, replyBytesQueued: 32 * MIB }
  const server = await start(t, {}, { structures: answering(8 * MIB), limits })
  const client = await createNumbers(t, server.url)
  const socket = await bareWebSocket(t, server.url)
  socket.write(await counts(client, 20))
  // What the system has taken of a reply does not count any more.
  while (server.load().replyBytes < 8 * MIB) await setTimeout(5)
  t.ok(server.load().requests > 0, 'some have not begun')
  const stop = server.close().then(() => 'stopped')
  t.equal(await Promise.race([stop, setTimeout(20_000, 'held up', { ref: false })]), 'stopped')
  t.match(server.load(), { connections: 0, requests: 0, requestBytes: 0, replyBytes: 0 })
})
