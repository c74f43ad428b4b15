import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { encodeFrame } from '../../../../protocol/frame.js'
import { loadConfig } from '../../../../src/config/load.js'
import { Meters } from '../../../../src/observe/meters.js'
import { Rights } from '../../../../src/server/access/rights.js'
import { Connection } from '../../../../src/server/connection.js'
import { Flow } from '../../../../src/server/flow/flow.js'
import { flowLimits } from '../../../../src/server/flow/flow-limits.js'
import type { Answered } from '../../../../src/server/gate/engine-gate.js'
import { takeDescriptor } from '../../../../src/server/threads/descriptor.js'
import { MessageBoundaries } from '../../../../src/server/threads/message-boundaries.js'
import { ResidentConnection } from '../../../../src/server/threads/resident-connection.js'
import { createWebSocketServer } from '../../../../src/server/web-sockets.js'
import { bareWebSocket, frameHead, frameOf, Lead } from '../faults/raw-socket.js'

/** What a test sees of a connection that may leave. */
class Bed {
  /** Ids of the requests that reached the engine. */
  readonly asked: number[] = []
  /** What was handed over, each with the client's name. */
  readonly moved: { readonly head: Buffer; readonly client: string | undefined }[] = []
  /** Connections of which the engine was told that they are over. */
  readonly left: number[] = []
  underWay = 0
  /** Whether requests are answered at once, else when `answerAll` is called. */
  prompt = true
  /** Whether there is a thread to hand it to. */
  takes = true
  readonly #waiting: ((answer: Answered) => void)[] = []
  resident: ResidentConnection | undefined

  answerAll(): void {
    for (const answer of this.#waiting.splice(0)) answer({ fields: { indexes: [] } })
  }

  ask(id: number): Promise<Answered> {
    this.asked.push(id)
    if (this.prompt) return Promise.resolve({ fields: { indexes: [] } })
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}

/** A connection that is served here, from a client that writes frames as it likes. */
async function residentOf(t: Test): Promise<{ bed: Bed; client: Socket; replies: () => number }> {
  const bed = new Bed()
  const flow = new Flow(flowLimits(loadConfig({ flags: {} })))
  const grant = { who: 'anyone', rights: Rights.all }
  const meters = new Meters()
  const meter = { received: (bytes: number) => meters.received(bytes), slowConsumer: () => {} }
  const gate = {
    adapter: { name: 'none', software: true },
    ask: ({ request }: { request: { id: number } }) => bed.ask(request.id),
    left: (connection: number) => void bed.left.push(connection),
  }
  const http = createServer()
  const webSockets = createWebSocketServer()
  http.on('upgrade', (request, stream, head) =>
    webSockets.handleUpgrade(request, stream, head, (socket) => {
      const connection = new Connection(socket, stream, { gate, number: 7, grant, flow, meter })
      const move = (bytes: Uint8Array) => {
        const descriptor = bed.takes ? takeDescriptor(stream) : undefined
        if (descriptor === undefined) return undefined
        bed.moved.push({ head: Buffer.from(bytes), client: connection.handOver() })
        return { closed: Promise.resolve(), close: async () => {} }
      }
      bed.resident = new ResidentConnection({
        connection,
        socket,
        stream,
        underWay: () => bed.underWay,
        move,
      })
    }),
  )
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  t.teardown(() => {
    flow.close()
    http.close()
    http.closeAllConnections()
  })
  const { port } = http.address() as AddressInfo
  const client = await bareWebSocket(t, `ws://127.0.0.1:${port}`)
  let replies = 0
  const boundaries = new MessageBoundaries()
  client.on('data', (data: Buffer) => {
    replies += boundaries.advance(data).length
  })
  client.resume()
  return { bed, client, replies: () => replies }
}

const request = (id: number) => frameOf(Lead.binary, encodeFrame({ id, op: 'listIndexes' }))
const requests = (first: number, count: number) =>
  Buffer.concat(Array.from({ length: count }, (_, i) => request(first + i)))
const hello = frameOf(Lead.binary, encodeFrame({ id: 0, op: 'hello', protocol: 1, client: 'me' }))

/** Waits until something is so. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setTimeout(1)
}

/** Sends one request after the other, each when the one before is answered. */
async function askAlone(client: Socket, replies: () => number, first: number, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const before = replies()
    client.write(request(first + i))
    await until(() => replies() > before)
  }
}

t.test('who asks one thing after the other stays', async (t) => {
  const { bed, client, replies } = await residentOf(t)
  await askAlone(client, replies, 1, 150)
  client.write(frameOf(Lead.ping, Buffer.from('still there?')))
  await until(() => replies() === 151)
  t.equal(bed.asked.length, 150)
  t.strictSame(bed.moved, [])
  client.destroy()
  await bed.resident?.closed
  t.strictSame(bed.left, [7], 'the engine is told of its end')
})

t.test('who has a few requests under way stays, unless others have some too', async (t) => {
  const { bed, client, replies } = await residentOf(t)
  // How large replies are is known then, so that several requests may run.
  await askAlone(client, replies, 1, 1)
  bed.prompt = false
  let asked = 1
  for (let round = 0; round < 30; round++) {
    client.write(requests(asked + 1, 4))
    await until(() => bed.asked.length === asked + 4)
    bed.underWay = 4
    client.write(requests(asked + 5, 4))
    asked += 8
    await until(() => bed.asked.length === asked)
    bed.underWay = 0
    bed.answerAll()
    await until(() => replies() === asked)
  }
  t.strictSame(bed.moved, [])
  bed.underWay = 2
  bed.prompt = true
  for (; bed.moved.length === 0 && asked < 500; asked += 8) {
    client.write(requests(asked + 1, 8))
    await until(() => bed.moved.length === 1 || replies() === asked + 8)
  }
  t.equal(bed.moved.length, 1)
})

t.test('many requests at once leave as they came', async (t) => {
  const { bed, client, replies } = await residentOf(t)
  client.write(hello)
  await until(() => replies() === 1)
  const burst = requests(1, 24)
  client.write(burst)
  await until(() => bed.moved.length === 1)
  t.strictSame(bed.moved, [{ head: burst, client: 'me' }])
  t.strictSame(bed.asked, [])
  await bed.resident?.closed
  t.strictSame(bed.left, [], 'what it began goes on')
  t.equal(bed.resident?.requests, 0)
  await bed.resident?.close()
})

t.test('a large request leaves with its first piece', async (t) => {
  const { bed, client, replies } = await residentOf(t)
  await askAlone(client, replies, 1, 3)
  const large = frameOf(Lead.binary, Buffer.alloc(100_000, 1))
  client.write(large.subarray(0, 5000))
  await until(() => bed.moved.length === 1)
  t.strictSame(bed.moved[0]?.head, large.subarray(0, 5000))
})

t.test('who is in company again and again leaves', async (t) => {
  const { bed, client, replies } = await residentOf(t)
  bed.underWay = 2
  await askAlone(client, replies, 1, 5)
  bed.underWay = 1
  await askAlone(client, replies, 6, 50)
  t.strictSame(bed.moved, [], 'not for a few times')
  bed.underWay = 2
  await askAlone(client, replies, 56, 7)
  t.strictSame(bed.moved, [])
  client.write(request(63))
  await until(() => bed.moved.length === 1)
  t.equal(bed.asked.length, 62)
  t.strictSame(bed.moved[0]?.head, request(63))
})

t.test('what runs is answered first, and what came meanwhile leaves in its order', async (t) => {
  const { bed, client, replies } = await residentOf(t)
  bed.prompt = false
  client.write(request(1))
  await until(() => bed.asked.length === 1)
  const [first, second] = [requests(2, 24), requests(26, 20)]
  client.write(first)
  await until(() => client.writableLength === 0)
  client.write(second)
  bed.answerAll()
  // It may have been a long request on this machine.
  bed.prompt = true
  await until(() => bed.moved.length === 1 || bed.asked.length === 45)
  await until(() => replies() === bed.asked.length)
  if (bed.moved.length === 1) {
    t.strictSame(bed.asked, [1])
    const { head } = bed.moved[0]!
    t.strictSame(head, Buffer.concat([first, second]).subarray(0, head.length))
  } else
    t.strictSame(
      bed.asked,
      [...Array(45).keys()].map((i) => i + 1),
    )
})

t.test(
  'behind a long request nothing waits: it stays, and leaves later in the middle of what comes',
  async (t) => {
    const { bed, client, replies } = await residentOf(t)
    bed.prompt = false
    client.write(request(1))
    await until(() => bed.asked.length === 1)
    client.write(requests(2, 24))
    await until(() => bed.asked.length === 25)
    t.strictSame(
      bed.asked,
      [...Array(25).keys()].map((i) => i + 1),
    )
    bed.prompt = true
    bed.answerAll()
    await until(() => replies() === 25)
    const last = request(26)
    client.write(last.subarray(0, 10))
    // Until it is tried again.
    await setTimeout(1100)
    const rest = requests(27, 24)
    client.write(Buffer.concat([last.subarray(10), rest]))
    await until(() => bed.moved.length === 1)
    t.equal(bed.asked.at(-1), 26)
    t.strictSame(bed.moved[0]?.head, rest)
  },
)

t.test('where no thread takes it, it stays', async (t) => {
  const { bed, client, replies } = await residentOf(t)
  bed.takes = false
  client.write(requests(1, 40))
  await until(() => replies() === 40)
  t.equal(bed.asked.length, 40)
  await askAlone(client, replies, 41, 5)
  t.strictSame(bed.moved, [])
})

t.test('a client may vanish while it waits to leave', async (t) => {
  const { bed, client } = await residentOf(t)
  bed.prompt = false
  client.write(request(1))
  await until(() => bed.asked.length === 1)
  client.write(requests(2, 30), () => client.resetAndDestroy())
  await bed.resident?.closed
  t.strictSame(bed.moved, [])
  t.strictSame(bed.left, [7])
})

t.test('a close waits for what runs, also while it waits to leave', async (t) => {
  const { bed, client, replies } = await residentOf(t)
  bed.prompt = false
  client.write(request(1))
  await until(() => bed.asked.length === 1)
  client.write(requests(2, 30))
  await setTimeout(5)
  const closing = bed.resident?.close()
  await setTimeout(40)
  bed.answerAll()
  await until(() => replies() > 0)
  client.write(frameOf(Lead.close, Uint8Array.of(3, 233)))
  await closing
  await bed.resident?.closed
  t.strictSame(bed.moved, [])
  t.equal(bed.asked[0], 1)
})

t.test('who sends a message that is too large is told so, and gone as soon as it goes', async (t) => {
  const { bed, client } = await residentOf(t)
  bed.takes = false
  await until(() => bed.resident !== undefined)
  const isOver = bed.resident!.closed.then(() => true)
  client.write(frameHead(Lead.binary, 2 ** 30))
  for (let i = 0; i < 64; i++) client.write(Buffer.alloc(2 ** 20))
  client.end()
  // The library itself would give it half a minute.
  t.equal(await Promise.race([isOver, setTimeout(10_000, false, { ref: false })]), true)
  t.same(bed.asked, [])
})
