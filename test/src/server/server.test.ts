import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { hostname } from 'node:os'
import { setImmediate, setTimeout } from 'node:timers/promises'
import t from 'tap'
import { WebSocket } from 'ws'
import { columnOf } from '../../../protocol/columns.js'
import { PROTOCOL_VERSION, type Section } from '../../../protocol/frame.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { StructureFactory } from '../../../src/engine/index.js'
import { banner, loadConfig } from '../../../src/server/index.js'
import { modelStructures } from '../../model-structure.js'
import { withRead } from '../../reads.js'
import { requestFrame } from '../../wire.js'
import { u32, values } from '../engine/open-engine.js'
import { RawClient } from './raw-client.js'
import { start } from './start.js'

const column = (...keys: number[]): Section => ({ type: 'u32', bytes: u32(...keys) })
const blob = (bytes: Uint8Array): Section => ({ type: 'bytes', bytes })
const numbers = { op: 'createIndex', index: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false }

t.test('a conversation', async (t) => {
  const { url } = await start(t)
  const client = await RawClient.connect(t, url)
  const hello = await client.ask({ id: 0, op: 'hello', protocol: PROTOCOL_VERSION, client: 'me' })
  t.match(hello.header, {
    id: 0,
    ok: true,
    protocol: PROTOCOL_VERSION,
    adapter: { software: true },
    limits: { batchItems: 1048576 },
  })
  t.match((await client.ask({ id: 1, ...numbers })).header, { ok: true, created: true })
  const payloads = { keys: column(1, 2), payloads: blob(u32(10, 20)) }
  const insert = await client.ask({ id: 2, op: 'insert', index: 'numbers', writeId: 1 }, payloads)
  t.same([...insert.sections.get('codes')!.bytes], [0, 0])
  const get = await client.ask({ id: 3, op: 'get', index: 'numbers' }, { keys: column(2, 3) })
  t.same(values(get.sections.get('payloads')!.bytes), [20, 0])
  const count = await client.ask({ id: 4, op: 'count', index: 'numbers' }, { keys: column(1) })
  t.same(values(count.sections.get('counts')!.bytes), [1])
  const scan = await client.ask({ id: 5, op: 'scan', index: 'numbers', limit: 10 })
  t.same(values(scan.sections.get('keys')!.bytes), [1, 2])
  const next = await client.ask({ id: 6, op: 'getNext', index: 'numbers' }, { keys: column(1) })
  t.same(values(next.sections.get('keys')!.bytes), [2])
  const remove = await client.ask({ id: 7, op: 'delete', index: 'numbers' }, { keys: column(1) })
  t.same([...remove.sections.get('codes')!.bytes], [3])
  t.match((await client.ask({ id: 8, op: 'listIndexes' })).header.indexes, [{ name: 'numbers' }])
  t.match((await client.ask({ id: 9, op: 'stats' })).header, { indexes: [{ name: 'numbers', payloads: 1 }] })
  t.match((await client.ask({ id: 10, op: 'snapshot' })).header.snapshots, [
    { index: 'numbers', position: 2 },
  ])
  t.match((await client.ask({ id: 11, op: 'cancel', target: 9 })).header, { cancelled: false })
  t.match((await client.ask({ id: 12, op: 'dropIndex', index: 'numbers' })).header, { dropped: true })
})

t.test('an index over columns whose drop comes right behind its creation', async (t) => {
  const { url } = await start(t)
  const client = await RawClient.connect(t, url)
  const columns = [{ name: 'n', type: 'u32', nullable: false }]
  await client.ask({ id: 1, op: 'createRelation', relation: 'r', columns })
  client.send({ id: 2, op: 'createRelationIndex', index: 'by n', relation: 'r', columns: ['n'] })
  client.send({ id: 3, op: 'dropIndex', index: 'by n' })
  const created = { id: 2, ok: true, created: true, definition: { name: 'by n', keyType: 'u32' } }
  t.match((await client.reply()).header, created)
  t.match((await client.reply()).header, { id: 3, ok: true, dropped: true })
  t.match((await client.ask({ id: 4, op: 'listIndexes' })).header, { indexes: { length: 0 } })
})

t.test('keys of variable length, frame by frame', async (t) => {
  const { url } = await start(t)
  const client = await RawClient.connect(t, url)
  const hello = await client.ask({ id: 0, op: 'hello', protocol: PROTOCOL_VERSION, client: 'me' })
  t.match(hello.header, { limits: { keyBytes: 4096 } })
  const keyType = 'tuple( u32, string )'
  const created = await client.ask({ ...numbers, id: 1, index: 'pairs', keyType })
  t.match(created.header, { ok: true, definition: { keyType: 'tuple(u32,string)' } })
  const keys = (name: string, offsets: string, ...digits: string[]) => {
    const rows = columnOf(digits.map((key) => Buffer.from(key, 'hex')))
    return { [name]: blob(rows.bytes), [offsets]: column(...rows.offsets) }
  }
  const [one, two] = ['0000000161620000', '000000020000']
  const insert = await client.ask(
    { id: 2, op: 'insert', index: 'pairs' },
    { ...keys('keys', 'keyOffsets', two, one), payloads: blob(u32(20, 10)) },
  )
  t.same([...insert.sections.get('codes')!.bytes], [0, 0])
  const ask = { id: 3, index: 'pairs' }
  const scan = await client.ask({ ...ask, op: 'scan', limit: 1 }, keys('from', 'fromOffsets', '', '00000002'))
  const section = (name: string) => scan.sections.get(name)!
  t.same(section('keys'), blob(Buffer.from(one + two, 'hex')))
  t.same(values(section('keyOffsets').bytes), [0, 8, 14])
  t.same(values(section('tokenOffsets').bytes), [0, 12, 22])
  t.same([...section('more').bytes], [1, 0])
  const tokens = keys('tokens', 'tokenOffsets', `${one}00000000`, 'ffffffff')
  const more = await client.ask({ ...ask, op: 'scan', limit: 1 }, tokens)
  t.same(values(more.sections.get('offsets')!.bytes), [0, 1, 1])
  t.same(values(more.sections.get('tokenOffsets')!.bytes), [0, 10, 10])
  const next = await client.ask({ ...ask, op: 'getNext' }, keys('keys', 'keyOffsets', one, two))
  t.same(values(next.sections.get('keyOffsets')!.bytes), [0, 6, 6])
  const refused = async (sections: Record<string, Section>, code: string) =>
    t.match((await client.ask({ ...ask, op: 'get' }, sections)).header, { ok: false, error: { code } })
  await refused({ keys: column(1) }, 'WRONG_KEY_TYPE')
  await refused({ keys: blob(new Uint8Array(4)) }, 'BAD_REQUEST')
  await refused(keys('keys', 'keyOffsets', one, '00000002'), 'BAD_REQUEST')
  await refused(keys('keys', 'keyOffsets', '00'.repeat(4097)), 'TOO_LARGE')
  const unknown = await client.ask({ ...numbers, id: 4, index: 'x', keyType: 'tuple(u32)' })
  t.match(unknown.header, { ok: false, error: { code: 'BAD_REQUEST', message: /2 to 8/ } })
})

t.test('layouts, traversals and explanations, frame by frame', async (t) => {
  const { url } = await start(t)
  const client = await RawClient.connect(t, url)
  const layout = { layout: 'full', allocation: 'demand', partitionLevels: 2, linked: true }
  const created = await client.ask({ id: 1, ...numbers, ...layout })
  const definition = { name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false }
  const announced = { ...definition, layout: 'full', partitionLevels: 2, linked: true }
  t.strictSame(created.header.definition, announced)
  const other = await client.ask({ id: 2, ...numbers, layout: 'compact', ifNotExists: true })
  const message = /full layout, partition levels 2, linked; drop/
  t.match(other.header, { error: { code: 'INDEX_EXISTS', message } })
  t.strictSame((await client.ask({ id: 3, op: 'listIndexes' })).header.indexes, [announced])

  const ask = { id: 4, index: 'numbers', strategy: 'directed', resolution: 'serial' }
  const payloads = { keys: column(1, 2), payloads: blob(u32(10, 20)) }
  const insert = await client.ask({ ...ask, op: 'insert' }, payloads)
  t.same([...insert.sections.get('codes')!.bytes], [0, 0])
  const get = await client.ask({ ...ask, op: 'get' }, { keys: column(2) })
  t.same(values(get.sections.get('payloads')!.bytes), [20])
  const next = await client.ask({ ...ask, op: 'getNext' }, { keys: column(1) })
  t.same(values(next.sections.get('keys')!.bytes), [2])
  const explained = await client.ask({ ...ask, op: 'explain' }, { keys: column(2, 3) })
  t.match(explained.header.explanation, {
    strategy: 'directed',
    resolution: 'serial',
    batch: 2,
    digits: 8,
    partitions: { levels: 2 },
    tables: { answer: 4, rows: [{ partition: 1, level: 0, result: 4, predecessor: null }, {}, {}, {}] },
  })
  t.equal(explained.sections.size, 0)
  const none = await client.ask({ id: 5, op: 'explain', index: 'numbers' }, { keys: column() })
  t.match(none.header, { error: { code: 'BAD_REQUEST', message: /explain needs at least one key/ } })
})

t.test('bad requests are answered, and harm nothing else', async (t) => {
  const { url } = await start(t)
  const client = await RawClient.connect(t, url)
  await client.ask({ id: 1, ...numbers })
  const refused = async (reply: Promise<{ header: object }>, id: number | null, code: string) =>
    t.match((await reply).header, { id, ok: false, error: { code } })
  const garbage: readonly (readonly [Buffer, number | null, string])[] = [
    [Buffer.alloc(0), null, 'BAD_REQUEST'],
    [Buffer.alloc(3), null, 'BAD_REQUEST'],
    [Buffer.alloc(47), null, 'BAD_REQUEST'],
    [Buffer.alloc(100), 0, 'BAD_REQUEST'],
    [Buffer.alloc(100, 0xff), null, 'TOO_LARGE'],
  ]
  for (const [bytes, id, code] of garbage) {
    client.socket.send(bytes)
    await refused(client.reply(), id, code)
  }
  client.socket.send('text')
  await refused(client.reply(), null, 'BAD_REQUEST')
  await refused(client.ask({ id: 2, op: 'fly' }), 2, 'BAD_REQUEST')
  await refused(client.ask({ id: 3, op: 'get', index: 'none' }, { keys: column(1) }), 3, 'UNKNOWN_INDEX')
  await refused(
    client.ask({ id: 4, op: 'get', index: 'numbers' }, { keys: blob(u32(1)) }),
    4,
    'WRONG_KEY_TYPE',
  )
  await refused(client.ask({ id: 5, ...numbers }), 5, 'INDEX_EXISTS')
  const writeWithId = { id: 6, op: 'insert', index: 'numbers', writeId: 1 }
  const columns = { keys: column(1), payloads: blob(u32(1)) }
  await refused(client.ask(writeWithId, columns), 6, 'BAD_REQUEST')
  const older = await client.ask({ id: 7, op: 'hello', protocol: 1, client: 'me' })
  t.match(older.header, { id: 7, ok: false, error: { code: 'BAD_REQUEST', message: /protocol.* 2\b/ } })
  const many = { keys: { type: 'u32', bytes: new Uint8Array(4 * (LIMITS.batchItems + 1)) } } as const
  await refused(client.ask({ id: 8, op: 'get', index: 'numbers' }, many), 8, 'TOO_LARGE')
  t.match((await client.ask({ id: 9, op: 'count', index: 'numbers' }, { keys: column(1) })).header, {
    ok: true,
  })
})

t.test('a write that was done is answered as before when its index has another name', async (t) => {
  const { url } = await start(t)
  const client = await RawClient.connect(t, url)
  await client.ask({ id: 1, op: 'hello', protocol: 2, client: 'me' })
  await client.ask({ id: 2, ...numbers })
  await client.ask({ id: 3, ...numbers, index: 'others' })
  const columns = { keys: column(1), payloads: blob(u32(7)) }
  const write = { op: 'insert', index: 'numbers', writeId: 1 }
  const range = { op: 'deleteRange', index: 'others', writeId: 2 }
  const first = await client.ask({ id: 4, ...write }, columns)
  const gone = await client.ask({ id: 5, ...range })
  await client.ask({ id: 6, op: 'swapIndexes', index: 'numbers', with: 'others' })
  const again = await client.ask({ id: 7, ...write }, columns)
  t.strictSame(again.sections, first.sections)
  t.strictSame((await client.ask({ id: 8, ...range })).sections, gone.sections)
  const changed = { ok: false, error: { code: 'INDEX_CHANGED' } }
  t.match((await client.ask({ id: 9, ...write, writeId: 3 }, columns)).header, changed, 'it was not done')
  t.match((await client.ask({ id: 10, ...write, writeId: undefined }, columns)).header, changed)
  t.match((await client.ask({ id: 11, op: 'get', index: 'numbers' }, { keys: column(1) })).header, changed)
  const other = await RawClient.connect(t, url)
  await other.open('numbers')
  await other.open('others')
  const counts = async (index: string) => {
    const { sections } = await other.ask({ id: 1, op: 'count', index }, { keys: column(1) })
    return [...(sections.get('counts')?.bytes ?? [])]
  }
  t.strictSame(
    [await counts('numbers'), await counts('others')],
    [
      [0, 0, 0, 0],
      [1, 0, 0, 0],
    ],
  )
})

t.test('a handle stands for its index for as long as there is one', async (t) => {
  const { url } = await start(t)
  const client = await RawClient.connect(t, url)
  await client.ask({ id: 1, ...numbers })
  const opened = await client.open('numbers')
  const { header } = await client.ask({ id: 2, op: 'open', index: 'numbers' })
  t.match(header, { ok: true, name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false })
  t.match(header, { handle: opened.handle, generation: opened.generation })
  const count = async (meant: object) => {
    const fields = { id: 3, op: 'count', index: 'numbers' }
    client.socket.send(requestFrame(fields, { keys: column(1) }, { ...opened, ...meant }))
    return (await client.reply()).header
  }
  t.match(await count({}), { ok: true })
  const code = (code: string) => ({ id: 3, ok: false, error: { code } })
  t.match(await count({ handle: opened.handle + 1000 }), code('UNKNOWN_INDEX'))
  t.match(await count({ generation: opened.generation + 1 }), code('INDEX_CHANGED'))
  const other = await RawClient.connect(t, url)
  t.match(await other.open('numbers'), { handle: opened.handle }, 'the same for all connections')
  await client.ask({ id: 4, op: 'dropIndex', index: 'numbers' })
  t.match(await count({}), code('UNKNOWN_INDEX'))
  await client.ask({ id: 5, ...numbers })
  t.match(await count({}), code('UNKNOWN_INDEX'), 'another index of its name has another one')
  const none = await client.ask({ id: 6, op: 'open', index: 'none' })
  t.match(none.header, { id: 6, ok: false, error: { code: 'UNKNOWN_INDEX' } })
  const miscounted = { id: 7, op: 'count', index: 'numbers', count: 2 }
  t.match((await client.ask(miscounted, { keys: column(1) })).header, { error: { code: 'BAD_REQUEST' } })
})

t.test('a message over the frame limit ends the connection, and that one only', async (t) => {
  const { url } = await start(t)
  const other = await RawClient.connect(t, url)
  const client = await RawClient.connect(t, url)
  client.socket.on('error', () => {})
  client.socket.send(Buffer.alloc(LIMITS.frameBytes + 1))
  const [code] = await once(client.socket, 'close')
  t.ok([1009, 1006].includes(code))
  t.match((await other.ask({ id: 1, op: 'listIndexes' })).header, { ok: true })
})

t.test('many requests in flight are answered, in order for each index', async (t) => {
  const { url } = await start(t, {}, { limits: { requestsInFlight: 8 } })
  const client = await RawClient.connect(t, url)
  client.send({ id: 0, ...numbers })
  for (let id = 1; id < 400; id++) {
    const columns = { keys: column(7), payloads: blob(u32(id)) }
    if (id % 2 === 1) client.send({ id, op: 'insert', index: 'numbers' }, columns)
    else client.send({ id, op: 'count', index: 'numbers' }, { keys: column(7) })
  }
  const counted: number[] = []
  for (let i = 0; i < 400; i++) {
    const { id, sections } = await client.reply()
    const counts = sections.get('counts')
    if (counts !== undefined) counted.push(values(counts.bytes)[0] - Number(id) / 2)
  }
  t.same(counted, new Array(199).fill(0), 'each count sees all inserts before it and none after')
})

t.test('large replies arrive whole', async (t) => {
  const { url } = await start(t)
  const client = await RawClient.connect(t, url)
  await client.ask({ id: 0, ...numbers })
  const bytes = new Uint8Array(Uint32Array.from({ length: 100_001 }, (_, i) => i * 3).buffer)
  const keys: Section = { type: 'u32', bytes }
  const columns = { keys, payloads: blob(bytes) }
  await client.ask({ id: 1, op: 'insert', index: 'numbers' }, columns)
  const { sections } = await client.ask({ id: 2, op: 'get', index: 'numbers' }, { keys })
  t.equal(Buffer.compare(sections.get('payloads')!.bytes, bytes), 0)
  t.equal(sections.get('found')!.bytes.byteLength, 12_501)
})

/** Structures whose `count` is something else. */
function countingBy(count: () => Promise<Uint8Array>): StructureFactory {
  return {
    ...modelStructures,
    create: async (device, shape) => withRead(await modelStructures.create(device, shape), 'count', count),
  }
}

t.test('a client that does not read is closed, and the server goes on', async (t) => {
  const structures = countingBy(async () => new Uint8Array(2 ** 20))
  const limits = { replyBytesQueued: 2 ** 24, stallSeconds: 0.2 }
  const { url } = await start(t, {}, { structures, limits })
  const client = await RawClient.connect(t, url)
  await client.ask({ id: 0, ...numbers })
  const closed = once(client.socket, 'close')
  client.socket.pause()
  for (let id = 1; id < 200; id++) client.send({ id, op: 'count', index: 'numbers' }, { keys: column(1) })
  const other = await RawClient.connect(t, url)
  t.match((await other.ask({ id: 1, op: 'listIndexes' })).header, { ok: true })
  const figures = async () => (await fetch(`${url.replace('ws', 'http')}/metrics`)).text()
  while (!/^warpdex_slow_consumers_total 1$/m.test(await figures())) await setImmediate()
  client.socket.resume()
  const [code, reason] = await closed
  // Who comes too late finds the connection gone.
  if (code !== 1006) t.match([code, String(reason)], [4008, /not read/])
})

t.test('a client that reads late gets everything', async (t) => {
  const structures = countingBy(async () => new Uint8Array(2 ** 18))
  const { url } = await start(
    t,
    {},
    { structures, limits: { replyBytesQueued: 2 ** 23, requestsInFlight: 8 } },
  )
  const client = await RawClient.connect(t, url)
  await client.ask({ id: 0, ...numbers })
  client.socket.pause()
  for (let id = 1; id < 100; id++) {
    client.send({ id, op: 'count', index: 'numbers' }, { keys: column(1) })
    await setImmediate()
  }
  client.socket.resume()
  for (let id = 1; id < 100; id++) t.match(await client.reply(), { id, header: { ok: true } })
})

t.test('a token is asked for', async (t) => {
  const { url } = await start(t, { token: 'secret' })
  await t.rejects(RawClient.connect(t, url), { message: /401/ })
  await t.rejects(RawClient.connect(t, url, { headers: { authorization: 'Bearer guess' } }), {
    message: /401/,
  })
  const client = await RawClient.connect(t, url, { headers: { authorization: 'Bearer secret' } })
  t.match((await client.ask({ id: 3, op: 'listIndexes' })).header, { ok: true })
  const hello = { id: 2, op: 'hello', protocol: PROTOCOL_VERSION, client: 'me', token: 'secret' }
  t.match((await client.ask(hello)).header, { error: { code: 'BAD_REQUEST', message: /no option "token"/ } })
})

t.test('strangers are kept out', async (t) => {
  await t.rejects(start(t, { host: '0.0.0.0' }), { code: 'BAD_REQUEST', message: /no token is set/ })
  const { url } = await start(t, { host: '0.0.0.0', allowUnauthenticated: true })
  const local = url.replace('0.0.0.0', '127.0.0.1')
  const statusFor = async (origin: string) => {
    const socket = new WebSocket(local, { origin })
    const [event] = await Promise.race([
      once(socket, 'open').then(() => ['open']),
      once(socket, 'unexpected-response').then(([, { statusCode }]) => [statusCode]),
    ])
    socket.terminate()
    return event
  }
  t.equal(await statusFor('https://example.org'), 403)
  t.equal(await statusFor('null'), 403)
  t.equal(await statusFor('http://localhost:3000'), 'open')
})

t.test('strangers that stay, or go at once, do not trouble the server', async (t) => {
  const server = await start(t)
  const { port } = new URL(server.url)
  const upgrade = `GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nOrigin: https://example.org\r\n\r\n`
  for (let i = 0; i < 20; i++) {
    const goes = connect(Number(port), '127.0.0.1')
    await once(goes, 'connect')
    goes.write(upgrade, () => goes.resetAndDestroy())
  }
  const stays = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
  stays.on('error', () => {})
  t.teardown(() => stays.destroy())
  stays.write(upgrade)
  t.match(String((await once(stays, 'data'))[0]), /^HTTP\/1.1 403/)
  const closed = server.close().then(() => 'closed')
  t.equal(await Promise.race([closed, setTimeout(5000, 'held up', { ref: false })]), 'closed')
})

t.test('health, and a port in use', async (t) => {
  const { url } = await start(t)
  const http = url.replace('ws', 'http')
  const health = await fetch(`${http}/health`)
  t.same([health.status, await health.json()], [200, { status: 'ready' }])
  t.equal((await fetch(`${http}/other`)).status, 404)
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  await t.rejects(start(t, { port }), { code: 'BAD_REQUEST', message: /in use/ })
})

t.test('closing answers what runs', async (t) => {
  let release: () => void = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const structures = countingBy(async () => {
    await held
    return u32(0)
  })
  const server = await start(t, {}, { structures })
  const client = await RawClient.connect(t, server.url)
  await client.ask({ id: 0, ...numbers })
  client.send({ id: 1, op: 'count', index: 'numbers' }, { keys: column(1) })
  client.send({ id: 2, op: 'cancel', target: 1 })
  t.match((await client.reply()).header, { id: 2, cancelled: true })
  const closed = once(client.socket, 'close')
  const closing = server.close()
  t.match((await client.ask({ id: 3, op: 'listIndexes' })).header, { id: 3 })
  const late = await client.ask({ id: 4, op: 'count', index: 'numbers' }, { keys: column(1) })
  t.match(late.header, { ok: false, error: { code: 'SHUTTING_DOWN' } })
  release()
  t.match((await client.reply()).header, { id: 1, ok: true })
  await closing
  t.equal((await closed)[0], 1001)
})

t.test('twenty servers one after the other, on one directory', async (t) => {
  const directory = t.testdir()
  for (let i = 0; i < 20; i++) {
    const server = await start(t, { directory })
    const client = await RawClient.connect(t, server.url)
    await client.ask({ id: 0, ...numbers, ifNotExists: true })
    const columns = { keys: column(i), payloads: blob(u32(i)) }
    await client.ask({ id: 1, op: 'insert', index: 'numbers' }, columns)
    const { header } = await client.ask({ id: 2, op: 'stats' })
    t.match(header, { indexes: [{ payloads: i + 1 }] })
    await server.close()
  }
})

t.test('the banner says what it runs on, where data lies, and how to talk to it', async (t) => {
  const directory = t.testdir()
  const server = await start(t, { directory, token: 'secret' })
  const config = loadConfig({ flags: { directory, token: 'secret' } })
  const text = banner(config, server)
  for (const part of [server.url, directory, 'SwiftShader', 'slow', 'warpdex stats', 'token']) {
    t.ok(text.includes(part), part)
  }
  t.notOk(text.includes('secret'))
  const { engine } = server
  t.match(banner(config, { url: 'wss://0.0.0.0:7474', engine }), `--url wss://${hostname()}:7474`)
  t.ok(text.split('\n').length < 24, 'it fits one screen')
})
