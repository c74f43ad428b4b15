// The baseline of a processor: a hash table in a process of its own, behind the same frames and the same WebSocket library.
import { createServer } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { aligned, asBytes } from '../../protocol/columns.js'
import {
  type DataRequest,
  decodeDataRequest,
  encodeDataReply,
  wireColumn,
} from '../../protocol/data-frame.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { decodeFrame, encodeFrame, type Frame, isControlFrame } from '../../protocol/frame.js'
import { LIMITS } from '../../protocol/limits.js'
import { PROTOCOL_VERSION } from '../../protocol/messages.js'
import { errorHeader } from '../../protocol/replies.js'
import { parsePayloadKind, payloadBytes } from '../../protocol/types.js'
import { HashTable } from './hash-table.js'

const payloadKind = parsePayloadKind(process.argv[2])
const width = payloadBytes(payloadKind) ?? 0
const table = new HashTable(width / 4, Number(process.argv[3]))

function words({ columns }: DataRequest, name: 'keys' | 'payloads'): Uint32Array {
  const found = columns[name]
  if (found === undefined) throw new WarpdexError('BAD_REQUEST', `column "${name}" is missing`)
  return aligned(found.bytes, Uint32Array)
}

function data(request: DataRequest): readonly Uint8Array[] {
  const { id, op } = request
  const keys = words(request, 'keys')
  const count = keys.length / 2
  if (op === 'get') {
    const found = new Uint8Array(Math.ceil(count / 8))
    const payloads = new Uint32Array((count * width) / 4)
    table.get(keys, payloads, found)
    const type = payloadKind === 'u64' ? 'u64' : 'bytes'
    return encodeDataReply({
      id,
      op,
      columns: { found: wireColumn('u8', found), payloads: wireColumn(type, payloads) },
    })
  }
  table.set(keys, words(request, 'payloads'))
  return encodeDataReply({ id, op, columns: { codes: wireColumn('u8', new Uint8Array(count)) } })
}

function control({ id, header }: Frame): Uint8Array {
  const index = { name: 'hash', keyType: 'u64', payloadKind, unique: true }
  if (header.op === 'open') return encodeFrame({ id, ok: true, ...index, handle: 1, generation: 1 })
  if (header.op === 'hello') {
    const adapter = { name: 'hash table', software: true }
    return encodeFrame({ id, ok: true, server: '0', protocol: PROTOCOL_VERSION, adapter, limits: LIMITS })
  }
  return encodeFrame({ id, ok: true, server: {}, indexes: [index] })
}

function answer(bytes: Uint8Array): readonly Uint8Array[] {
  return isControlFrame(bytes) ? [control(decodeFrame(bytes))] : data(decodeDataRequest(bytes))
}

/** Replies of up to this size leave in one system call with the others of their turn. */
const CORKED_BYTES = 16 * 1024

function serve(socket: WebSocket, stream: Duplex): void {
  let ready: (readonly Uint8Array[])[] = []
  const flush = () => {
    const replies = ready
    ready = []
    const corked = replies.length > 1 && replies[0][0].length <= CORKED_BYTES
    if (corked) stream.cork()
    for (const pieces of replies) {
      pieces.forEach((piece, i) => {
        socket.send(piece, { fin: i === pieces.length - 1 })
      })
    }
    if (corked) stream.uncork()
  }
  const send = (reply: readonly Uint8Array[]) => {
    if (ready.length === 0) setImmediate(flush)
    ready.push(reply)
  }
  socket.on('message', (data) => {
    const bytes = data instanceof Uint8Array ? asBytes(data) : new Uint8Array(0)
    try {
      send(answer(bytes))
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
