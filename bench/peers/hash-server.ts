// The baseline of a processor: a hash table in a process of its own, behind the same frames and the same WebSocket library.
import { createServer } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { aligned, asBytes } from '../../protocol/columns.js'
import { encodeDataReply } from '../../protocol/data-frame.js'
import {
  type ColumnName,
  type DataRequest,
  type WireColumns,
  wireColumn,
} from '../../protocol/data-request.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { encodeFrame, PROTOCOL_VERSION } from '../../protocol/frame.js'
import { LIMITS } from '../../protocol/limits.js'
import { type Request, readRequest } from '../../protocol/messages.js'
import { errorHeader } from '../../protocol/replies.js'
import { parsePayloadKind, payloadBytes } from '../../protocol/types.js'
import { HashTable } from './hash-table.js'

const payloadKind = parsePayloadKind(process.argv[2])
const width = payloadBytes(payloadKind) ?? 0
const table = new HashTable(width / 4, Number(process.argv[3]))

function column({ columns }: DataRequest, name: ColumnName): Uint32Array {
  const found = columns[name]
  if (found !== undefined) return aligned(found.bytes, Uint32Array)
  throw new WarpdexError('BAD_REQUEST', `column "${name}" is missing`)
}

function get(request: DataRequest): WireColumns {
  const keys = column(request, 'keys')
  const count = keys.length / 2
  const found = new Uint8Array(Math.ceil(count / 8))
  const payloads = new Uint32Array((count * width) / 4)
  table.get(keys, payloads, found)
  return { found: wireColumn('u8', found), payloads: wireColumn('bytes', payloads) }
}

function insert(request: DataRequest): WireColumns {
  const keys = column(request, 'keys')
  table.set(keys, column(request, 'payloads'))
  return { codes: wireColumn('u8', new Uint8Array(keys.length / 2)) }
}

/** A message in pieces. */
type Message = readonly Uint8Array[]

function answer(request: Request): Message {
  const { id, op } = request
  if (op === 'get') return encodeDataReply({ id, op, columns: get(request) })
  if (op === 'insert') return encodeDataReply({ id, op, columns: insert(request) })
  return [encodeFrame({ id, ok: true, ...fields(op) })]
}

function fields(op: Request['op']): object {
  const index = { name: 'hash', keyType: 'u64', payloadKind, unique: true }
  if (op === 'open') return { ...index, handle: 1, generation: 1 }
  if (op !== 'hello') return { server: {}, indexes: [index] }
  const adapter = { name: 'hash table', software: true }
  return { server: '0', protocol: PROTOCOL_VERSION, adapter, limits: LIMITS }
}

/** Replies of up to this size leave in one system call with the others of their turn. */
const CORKED_BYTES = 16 * 1024

function serve(socket: WebSocket, stream: Duplex): void {
  let ready: Message[] = []
  const flush = () => {
    const replies = ready
    ready = []
    const corked = replies.length > 1 && replies[0][0].length <= CORKED_BYTES
    if (corked) stream.cork()
    for (const reply of replies) {
      reply.forEach((piece, i) => {
        socket.send(piece, { binary: true, fin: i === reply.length - 1 })
      })
    }
    if (corked) stream.uncork()
  }
  const send = (reply: Message) => {
    if (ready.length === 0) setImmediate(flush)
    ready.push(reply)
  }
  socket.on('message', (data) => {
    const bytes = data instanceof Uint8Array ? asBytes(data) : new Uint8Array(0)
    try {
      send(answer(readRequest(bytes)))
    } catch (error) {
      send([encodeFrame(errorHeader(null, toWarpdexError(error)))])
    }
  })
}

const sockets = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
  maxPayload: LIMITS.frameBytes,
})
const server = createServer()
server.on('upgrade', (request, stream, head) => {
  sockets.handleUpgrade(request, stream, head, (socket) => serve(socket, stream))
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') process.send?.(`ws://127.0.0.1:${address.port}`)
})
process.on('disconnect', () => process.exit())
