// A thread for sockets: WebSocket framing, masking, decoding and encoding, beside the engine's thread.
import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import type { WebSocket } from 'ws'
import { Meters } from '../../observe/meters.js'
import { Rights } from '../access/rights.js'
import { Connection } from '../connection.js'
import { Flow } from '../flow/flow.js'
import { createWebSocketServer } from '../web-sockets.js'
import { Mailbox } from './mailbox.js'
import type { SocketThreadData, ToEngine, ToSockets } from './messages.js'
import { RemoteGate } from './remote-gate.js'
import { ThreadLoad } from './thread-load.js'

/** How often the thread says what its connections take, and what it has counted. */
const LOAD_MS = 250

/** How long a thread that fails takes at most to see its clients out. */
const FAREWELL_MS = 5000

/** The handshake looks at these only. */
const HANDSHAKE = {
  method: 'GET',
  url: '/',
  headers: {
    upgrade: 'websocket',
    'sec-websocket-key': Buffer.alloc(16).toString('base64'),
    'sec-websocket-version': '13',
  },
} as unknown as IncomingMessage

interface Adopted {
  readonly connection: Connection
  rights: Rights
}

const port = parentPort
if (port === null) throw new Error('this is the program of a thread, not of a process')

const { limits, adapter, load } = workerData as SocketThreadData
const outbox = new Mailbox<ToEngine>(port, (message, error) => gate.unsent(message, error))
const gate: RemoteGate = new RemoteGate(outbox, adapter)
const flow = new Flow(limits)
const threadLoad = new ThreadLoad(load)
const meters = new Meters()
const meter = {
  received: (bytes: number) => meters.received(bytes),
  slowConsumer: (queuedBytes: number) => outbox.send({ kind: 'slowConsumer', queuedBytes }),
}
const webSockets = createWebSocketServer()
const connections = new Map<number, Adopted>()
let failed = false

function adopt(message: Extract<ToSockets, { kind: 'adopt' }>): void {
  const { connection: number, descriptor, who, rules, client, head } = message
  const stream = new Socket({ fd: descriptor, readable: true, writable: true })
  stream.on('error', () => stream.destroy())
  stream.once('close', () => {
    connections.delete(number)
    outbox.send({ kind: 'closed', connection: number })
  })
  withoutAnswer(stream, Buffer.from(head), (socket) => {
    const grant = {
      who,
      get rights() {
        return connections.get(number)?.rights ?? Rights.none
      },
    }
    const connection = new Connection(socket, stream, { gate, number, grant, flow, meter, client })
    connections.set(number, { connection, rights: new Rights(rules) })
    if (failed) void connection.fail()
  })
}

/** Makes a WebSocket of a stream that was one before: the library makes one only of a handshake, which was answered then. */
function withoutAnswer(stream: Socket, head: Buffer, take: (socket: WebSocket) => void): void {
  stream.write = () => true
  webSockets.handleUpgrade(HANDSHAKE, stream, head, take)
  Reflect.deleteProperty(stream, 'write')
}

function setRights({ connection, rules }: Extract<ToSockets, { kind: 'rights' }>): void {
  const adopted = connections.get(connection)
  if (adopted !== undefined) adopted.rights = new Rights(rules)
}

/** After a fault nobody knows what holds: the clients are told, and the thread ends. What comes up meanwhile changes nothing. */
function fail({ message, stack }: Error): void {
  if (failed) return
  failed = true
  outbox.send({ kind: 'failed', message, stack })
  setTimeout(() => process.exit(1), FAREWELL_MS)
  const farewells = [...connections.values()].map(({ connection }) => connection.fail())
  void Promise.all(farewells).then(() => process.exit(1))
}

process.on('uncaughtException', fail)
port.on('messageerror', fail)
port.on('message', (messages: readonly ToSockets[]) => {
  for (const message of messages) {
    if (message.kind === 'adopt') adopt(message)
    else if (message.kind === 'rights') setRights(message)
    else if (message.kind === 'catchUp') outbox.send({ kind: 'caughtUp', number: message.number })
    else if (message.kind === 'close') void connections.get(message.connection)?.connection.close()
    else if (message.kind === 'fail') fail(new Error(message.message))
    else gate.settle(message)
  }
})

outbox.send({ kind: 'ready' })
setInterval(() => {
  const waiting = [...connections.values()].filter(({ connection }) => connection.requests > 0)
  threadLoad.set({
    requests: flow.inflow.requests,
    requestBytes: flow.inflow.bytes,
    replyBytes: flow.outflow.bytes,
    waitingClients: waiting.length,
  })
  const counts = meters.take()
  if (counts !== undefined) outbox.send({ kind: 'counted', counts })
}, LOAD_MS)
