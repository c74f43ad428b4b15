// A thread for sockets: WebSocket framing, masking, decoding and encoding, beside the engine's thread.
import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { Connection } from '../connection.js'
import { createWebSocketServer } from '../web-sockets.js'
import { Mailbox } from './mailbox.js'
import type { SocketThreadData, ToEngine, ToSockets } from './messages.js'
import { RemoteGate } from './remote-gate.js'

const port = parentPort
if (port === null) throw new Error('this is the program of a thread, not of a process')

const { token, limits, adapter } = workerData as SocketThreadData
const outbox = new Mailbox<ToEngine>(port)
const gate = new RemoteGate(outbox, adapter)
const webSockets = createWebSocketServer()
const connections = new Map<number, Connection>()

function adopt({
  connection,
  descriptor,
  method,
  headers,
  head,
}: Extract<ToSockets, { kind: 'adopt' }>): void {
  const stream = new Socket({ fd: descriptor, readable: true, writable: true })
  stream.on('error', () => stream.destroy())
  stream.once('close', () => {
    connections.delete(connection)
    outbox.send({ kind: 'closed', connection })
  })
  // The handshake looks at these only.
  const request = { method, headers, url: '/' } as IncomingMessage
  webSockets.handleUpgrade(request, stream, Buffer.from(head), (socket) => {
    connections.set(connection, new Connection(socket, stream, { gate, number: connection, token, limits }))
  })
}

port.on('message', (messages: readonly ToSockets[]) => {
  for (const message of messages) {
    if (message.kind === 'adopt') adopt(message)
    else if (message.kind === 'close') void connections.get(message.connection)?.close()
    else gate.settle(message)
  }
})
