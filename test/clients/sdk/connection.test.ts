import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import {
  type Client,
  type ConnectOptions,
  connect,
  LIMITS,
  WarpdexError,
} from '../../../clients/sdk/index.js'
import { TcpProxy, WHOLE } from '../../torture/cluster/tcp-proxy.js'
import { FakeServer, type Intervention } from './fake-server.js'

const numbers = { name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false } as const
/** Quick, so that tests are. */
const reconnect = { firstDelay: 5, maxDelay: 20 }

async function listen(t: Test): Promise<FakeServer> {
  const server = new FakeServer()
  await server.start()
  t.teardown(() => server.stop())
  return server
}

async function open(t: Test, options: ConnectOptions = {}) {
  const server = await listen(t)
  const client = await connect(server.url, { reconnect, ...options })
  t.teardown(() => client.close({ now: true }))
  await client.createIndex(numbers)
  const index = client.index<'u32', 'u32'>('numbers')
  await index.definition()
  return { server, client, index }
}

/** Does this to the first requests of that operation, and nothing to later ones. */
function first(op: string, intervention: Intervention | WarpdexError, times = 1): FakeServer['intervene'] {
  let left = times
  return (request) => (request.op === op && left-- > 0 ? intervention : 'none')
}

/** Waits until a condition holds. */
async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; !holds(); i++) {
    if (i === 5000) throw new Error(`this did not come true: ${holds}`)
    await setTimeout(2)
  }
}

t.test('a connection that cannot be made is an error with a reason', async (t) => {
  const server = await listen(t)
  const { url } = server
  server.token = 'secret'
  await t.rejects(connect(url), { code: 'UNAUTHORISED' })
  const client = await connect(url, { token: 'secret' })
  client.close()
  t.equal(await client.closed, undefined)
  await server.stop()
  await t.rejects(connect(url), { code: 'CONNECTION_LOST', message: /ECONNREFUSED/ })
  await t.rejects(connect('cities'), { code: 'BAD_REQUEST', message: /"cities" is not an address/ })
  await server.start()
})

t.test('a server that is still starting is told from one that is not there', async (t) => {
  const starting = createServer().on('upgrade', (_, stream) =>
    stream.end('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n'),
  )
  starting.listen(0, '127.0.0.1')
  await once(starting, 'listening')
  t.teardown(() => starting.close())
  const { port } = starting.address() as AddressInfo
  await t.rejects(connect(`ws://127.0.0.1:${port}`), {
    code: 'CONNECTION_LOST',
    message: /HTTP 503.*starting/,
  })
})

t.test('requests of an index arrive in the order of the calls', async (t) => {
  const { server, index } = await open(t)
  await Promise.all([
    index.insertMany([1], [1]),
    index.countMany([1]),
    index.insertMany([1], [2]),
    index.getAllMany([1]),
    index.deleteMany([1]),
  ])
  t.strictSame(
    server.requests.slice(2).map(({ op }) => op),
    ['insert', 'count', 'insert', 'getAll', 'delete'],
  )
})

t.test('calls that come with the definition, or after it, overtake none that waited for it', async (t) => {
  const { server, client } = await open(t)
  const index = client.index<'u32', 'u32'>('numbers')
  const calls: Promise<unknown>[] = []
  const four = (first: number) => {
    calls.push(
      index.insertMany([first], [1]),
      index.getMany([first + 1]),
      index.countMany([first + 2]),
      index.getAllMany([first + 3]),
    )
  }
  const definition = index.definition()
  four(1)
  definition.then(() => four(5))
  await definition
  four(9)
  await Promise.resolve()
  four(13)
  await setTimeout(5)
  four(17)
  await Promise.all(calls)
  const asked = server.requests.flatMap((request) => ('handle' in request ? [request] : []))
  t.strictSame(
    asked.slice(-20).map(({ op, columns }) => [op, columns.keys?.bytes[0]]),
    Array.from({ length: 20 }, (_, i) => [(['insert', 'get', 'count', 'getAll'] as const)[i % 4], i + 1]),
  )
})

t.test('no more requests are under way than the server reads', async (t) => {
  const { server, index } = await open(t)
  server.intervene = (request) => (request.op === 'count' ? 'hold' : 'none')
  const controller = new AbortController()
  const calls = Array.from({ length: LIMITS.requestsInFlight + 5 }, (_, i) =>
    index.countMany([i], i < 5 ? { signal: controller.signal } : {}).catch(({ code }) => code),
  )
  await until(() => server.of('count').length >= LIMITS.requestsInFlight)
  await setTimeout(20)
  t.equal(server.of('count').length, LIMITS.requestsInFlight)
  controller.abort()
  await until(() => server.of('count').length === LIMITS.requestsInFlight + 5)
  t.strictSame(await Promise.all(calls.slice(0, 5)), Array(5).fill('CANCELLED'))
  t.equal(server.of('cancel').length, 5)
})

t.test('calls of one turn are sent in their order, whatever their bounds', async (t) => {
  const { server, client } = await open(t)
  const { signal } = new AbortController()
  const bounds = [{}, { signal }, { deadline: 60_000 }, { signal, deadline: 60_000 }]
  for (const asked of ['for the first time', 'again'] as const) {
    const index = client.index<'u32', 'u32'>('numbers')
    if (asked === 'again') await index.definition()
    const before = server.of('count').length
    await Promise.all(Array.from({ length: 12 }, (_, i) => index.countMany([i], bounds[i % bounds.length])))
    const sent = server.of('count').slice(before)
    t.strictSame(
      sent.map(({ columns }) => columns.keys?.bytes[0]),
      Array.from({ length: 12 }, (_, i) => i),
      asked,
    )
  }
})

t.test('deadlines and signals end a call at once, and tell the server', async (t) => {
  const { server, index } = await open(t)
  server.intervene = (request) => (request.op === 'get' ? 'hold' : 'none')
  const late = index.getMany([1], { deadline: 500 })
  await until(() => server.of('get').length === 1)
  await t.rejects(late, { code: 'DEADLINE_EXCEEDED' })
  const controller = new AbortController()
  const call = index.getMany([1], { signal: controller.signal })
  await until(() => server.of('get').length === 2)
  controller.abort()
  await t.rejects(call, { code: 'CANCELLED' })
  await until(() => server.of('cancel').length === 2)
  t.strictSame(
    server.of('cancel').map(({ target }) => target),
    server.of('get').map(({ id }) => id),
  )
  const sent = server.requests.length
  await t.rejects(index.getMany([1], { signal: AbortSignal.abort() }), { code: 'CANCELLED' })
  await t.rejects(index.getMany([1], { deadline: 0 }), { code: 'DEADLINE_EXCEEDED' })
  t.equal(server.requests.length, sent, 'what has ended is not begun')
  const single = Promise.allSettled([index.get(1, { deadline: 5 }), index.get(2, { deadline: 5 })])
  t.match(await single, [
    { reason: { code: 'DEADLINE_EXCEEDED' } },
    { reason: { code: 'DEADLINE_EXCEEDED' } },
  ])
  server.intervene = () => 'none'
  t.equal(await index.get(1), undefined, 'the connection goes on')
})

t.test('a client has a deadline for calls that name none', async (t) => {
  const { server } = await open(t)
  server.intervene = () => 'hold'
  const client = await connect(server.url, { deadline: 20 })
  t.teardown(() => client.close({ now: true }))
  await t.rejects(client.listIndexes(), { code: 'DEADLINE_EXCEEDED' })
  await t.rejects(client.index('numbers').get(1), { code: 'DEADLINE_EXCEEDED' })
})

t.test('errors of the server arrive as they are', async (t) => {
  const { server, index } = await open(t)
  server.intervene = first('insert', new WarpdexError('OUT_OF_DEVICE_MEMORY', 'full'))
  const calls = await Promise.allSettled([index.insertMany([1], [1]), index.insertMany([2], [2])])
  t.match(calls, [{ reason: { code: 'OUT_OF_DEVICE_MEMORY', message: 'full' } }, { status: 'fulfilled' }])
})

t.test('reads are sent again on a new connection', async (t) => {
  const events: string[] = []
  const { server, index } = await open(t, {
    onDisconnect: ({ code }) => events.push(code),
    onReconnect: () => events.push('again'),
  })
  await index.insertMany([1], [10])
  server.intervene = first('get', 'dropBefore', 2)
  t.equal(await index.get(1), 10)
  t.equal(server.of('get').length, 3)
  t.equal(server.connections, 3)
  t.strictSame(events, ['CONNECTION_LOST', 'again', 'CONNECTION_LOST', 'again'])
})

t.test('a read that ends every connection is given up', async (t) => {
  const { server, index } = await open(t)
  server.intervene = first('get', 'dropBefore', 1000)
  await t.rejects(index.getMany([1]), { code: 'CONNECTION_LOST' })
  t.equal(server.of('get').length, 4)
  t.strictSame(await index.countMany([1]), Uint32Array.of(0), 'others go on')
})

t.test('a connection on which nonsense arrives is left for another', async (t) => {
  const reasons: string[] = []
  const { server, client, index } = await open(t, { onDisconnect: ({ message }) => reasons.push(message) })
  server.intervene = first('count', 'garbage')
  t.strictSame(await index.countMany([1]), Uint32Array.of(0))
  t.match(reasons, [/an invalid frame/])
  server.intervene = first('dropIndex', 'garbage')
  await t.rejects(client.dropIndex('numbers'), { code: 'CONNECTION_LOST' })
})

t.test('a write whose answer was lost is sent again under its id, and applied once', async (t) => {
  const { server, index } = await open(t)
  server.intervene = first('insert', 'dropAfter')
  t.strictSame([...(await index.insertMany([1], [10]))], [0])
  const inserts = server.of('insert')
  t.equal(inserts.length, 2)
  t.equal(inserts[0].writeId, inserts[1].writeId)
  t.strictSame((await index.getAllMany([1])).of(0), [10])
  await index.insertMany([1], [11])
  t.not(server.of('insert')[2].writeId, inserts[0].writeId)
  server.intervene = first('delete', 'dropBefore', 2)
  await t.rejects(index.deleteMany([1]), { code: 'CONNECTION_LOST' })
  t.equal(server.of('delete').length, 2)
})

t.test('the order of calls outlives the connection', async (t) => {
  const { server, index } = await open(t)
  server.intervene = first('insert', 'dropBefore')
  const keys = [1, 1, 1, 1]
  await Promise.all(keys.map((key, i) => index.insertMany([key], [i])))
  t.strictSame((await index.getAllMany([1])).of(0), [0, 1, 2, 3])
})

t.test('creating and dropping are not repeated', async (t) => {
  const { server, client } = await open(t)
  server.intervene = first('createIndex', 'dropAfter')
  await t.rejects(client.createIndex({ ...numbers, name: 'other' }), { code: 'CONNECTION_LOST' })
  server.intervene = first('dropIndex', 'dropAfter')
  await t.rejects(client.dropIndex('other'), { code: 'CONNECTION_LOST' })
  t.strictSame(await client.listIndexes(), [numbers])
})

t.test('calls made while the server is away wait for it', async (t) => {
  const { server, client, index } = await open(t)
  await server.stop()
  const calls = Promise.all([index.insertMany([1], [10]), index.get(1)])
  await t.rejects(index.countMany([1], { deadline: 10 }), { code: 'DEADLINE_EXCEEDED' })
  await setTimeout(30)
  await server.start()
  t.match(await calls, [[0], 10])
  t.equal(server.of('count').length, 0)
  client.close()
})

t.test('a client gives up in the end', async (t) => {
  const { server, client, index } = await open(t, { reconnect: { attempts: 3, firstDelay: 1 } })
  await server.stop()
  await t.rejects(index.getMany([1]), { code: 'CONNECTION_LOST' })
  t.match(await client.closed, { code: 'CONNECTION_LOST' })
  await t.rejects(index.getMany([1]), { code: 'CONNECTION_LOST' })
  await server.start()
  const { server: strict, client: stranger } = await open(t)
  strict.token = 'changed'
  strict.drop()
  t.match(await stranger.closed, { code: 'UNAUTHORISED' }, 'a refusal is final')
})

t.test('a client goes on trying for as long as it takes', async (t) => {
  const { server, client, index } = await open(t, { reconnect: { firstDelay: 1, maxDelay: 1 } })
  await server.stop()
  let attempts = 0
  const away = createServer().on('upgrade', (_, stream) => {
    attempts++
    stream.end('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n')
  })
  away.listen(Number(new URL(server.url).port), '127.0.0.1')
  const call = index.countMany([1])
  await until(() => attempts > 30)
  await new Promise((resolve) => away.close(resolve))
  await server.start()
  t.strictSame([...(await call)], [0])
  await client.close()
})

t.test('closing now ends everything', async (t) => {
  const { server, client, index } = await open(t)
  server.intervene = () => 'hold'
  const call = index.getMany([1])
  await until(() => server.of('get').length === 1)
  const closed = client.close({ now: true })
  await t.rejects(call, { code: 'CANCELLED', message: /closed/ })
  await t.rejects(index.getMany([1]), { code: 'CANCELLED' })
  await closed
  t.equal(await client.closed, undefined)
  const other: { client: Client; server: FakeServer } = await open(t)
  await other.server.stop()
  await other.client.close({ now: true })
  t.equal(await other.client.closed, undefined, 'also while it is trying to come back')
  await other.server.start()
})

t.test('closing ends an attempt to connect', async (t) => {
  const { server, client } = await open(t)
  const { port } = new URL(server.url)
  await server.stop()
  const silent = createTcpServer()
  const attempt = once(silent, 'connection')
  silent.listen(Number(port), '127.0.0.1')
  const [socket] = await attempt
  const ended = once(socket.resume(), 'close')
  await client.close({ now: true })
  await ended
  await new Promise((resolve) => silent.close(resolve))
  await server.start()
})

t.test('closing waits for answers, but not for a server that is gone', async (t) => {
  const { server, client, index } = await open(t)
  server.intervene = first('count', 'hold')
  const held = index.countMany([1], { deadline: 300 })
  await until(() => server.of('count').length === 1)
  const closed = client.close()
  await t.rejects(index.countMany([1]), { code: 'CANCELLED', message: /closed/ }, 'new calls are refused')
  t.equal(await Promise.race([closed, setTimeout(20, 'waits')]), 'waits')
  const again = client.close()
  await t.rejects(held, { code: 'DEADLINE_EXCEEDED' })
  await closed
  await again
  const back = await open(t, { reconnect: { firstDelay: 60_000, maxDelay: 60_000 } })
  await back.server.stop()
  const answered = back.index.countMany([1])
  await back.server.start()
  await back.client.close()
  t.strictSame([...(await answered)], [0], 'one more attempt, at once')
  const gone = await open(t)
  await gone.server.stop()
  const lost = t.rejects(gone.index.countMany([1]), { code: 'CONNECTION_LOST' })
  await gone.client.close()
  await lost
  t.match(await gone.client.closed, { code: 'CONNECTION_LOST' })
  await gone.server.start()
})

/** What a node of a replica set answers that does not own it. */
const notOwner = (owner?: string) =>
  new WarpdexError('NOT_OWNER', 'another node owns the replica set', { owner })

t.test('calls that a node leaves to the owner go there in their order, once each', async (t) => {
  const { server, index } = await open(t, { reconnect: { ...reconnect, attempts: 1 } })
  const owner = await listen(t)
  const other = await connect(owner.url)
  t.teardown(() => other.close())
  await other.createIndex({ ...numbers, unique: false })
  server.intervene = ({ op }) => (op === 'insert' || op === 'delete' ? notOwner(owner.url) : 'none')
  await Promise.all([index.insertMany([1, 2], [1, 2]), index.deleteMany([1]), index.insertMany([3], [3])])
  t.same(await Promise.all([1, 2, 3].map((key) => index.getAll(key))), [[], [2], [3]])
  t.equal(owner.connections, 2)
})

t.test('a call that is given up keeps nobody from the owner', async (t) => {
  const { server, client } = await open(t)
  const refuse = first('listIndexes', notOwner())
  server.intervene = (request) => (request.op === 'slowRequests' ? 'hold' : refuse(request))
  const held = client.slowRequests({ deadline: 50 })
  const listed = client.listIndexes()
  await t.rejects(held, { code: 'DEADLINE_EXCEEDED' })
  t.equal((await listed).length, 1)
})

t.test('a server that vanishes is left, one that takes long is not', async (t) => {
  const server = await listen(t)
  const proxy = await TcpProxy.open(() => Number(new URL(server.url).port))
  t.teardown(() => proxy.close())
  const lost: string[] = []
  const onDisconnect = ({ message }: WarpdexError) => lost.push(message)
  const client = await connect(`ws://${proxy.address}`, { reconnect, connectTimeout: 300, onDisconnect })
  t.teardown(() => client.close({ now: true }))
  await client.createIndex(numbers)
  const index = client.index<'u32', 'u32'>('numbers')
  server.intervene = first('get', 'hold')
  const slow = index.get(1).catch(() => {})
  await setTimeout(2600)
  t.strictSame(lost, [], 'it says hello again')
  proxy.cut = { toServer: false, toClient: true }
  await until(() => lost.length > 0)
  t.match(lost[0], /silence/)
  proxy.cut = WHOLE
  t.equal(await index.get(1), undefined, 'it is asked again')
  await slow
})
