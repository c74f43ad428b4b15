// The baseline of a processor: a hash table in a process of its own, behind the same frames and the same WebSocket library.
import { createServer } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { aligned, asBytes } from '../../protocol/columns.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { decodeFrame, encodeFrame, type Frame, layoutFrame, writeFrame } from '../../protocol/frame.js'
import { LIMITS } from '../../protocol/limits.js'
import { PROTOCOL_VERSION } from '../../protocol/messages.js'
import { errorHeader } from '../../protocol/replies.js'
import { parsePayloadKind, payloadBytes } from '../../protocol/types.js'
import { HashTable } from './hash-table.js'

const payloadKind = parsePayloadKind(process.argv[2])
const width = payloadBytes(payloadKind) ?? 0
const table = new HashTable(width / 4, Number(process.argv[3]))

function section(frame: Frame, name: string): Uint32Array {
  const found = frame.sections.get(name)
  if (found === undefined) throw new WarpdexError('BAD_REQUEST', `section "${name}" is missing`)
  return aligned(found.bytes, Uint32Array)
}

/** The answer is written into the frame that is sent, once. */
function get(frame: Frame): Uint8Array {
  const keys = section(frame, 'keys')
  const count = keys.length / 2
  const layout = layoutFrame({ id: frame.id, ok: true }, [
    { name: 'found', type: 'u8', length: Math.ceil(count / 8) },
    { name: 'payloads', type: payloadKind === 'u64' ? 'u64' : 'bytes', length: count * width },
  ])
  const reply = new Uint8Array(layout.byteLength)
  const [found, payloads] = writeFrame(layout, reply)
  table.get(keys, new Uint32Array(payloads.buffer, payloads.byteOffset, payloads.length / 4), found)
  return reply
}

function insert(frame: Frame): Uint8Array {
  const keys = section(frame, 'keys')
  table.set(keys, section(frame, 'payloads'))
  return encodeFrame(
    { id: frame.id, ok: true },
    { codes: { type: 'u8', bytes: new Uint8Array(keys.length / 2) } },
  )
}

function answer(frame: Frame): Uint8Array {
  const { op } = frame.header
  if (op === 'get') return get(frame)
  if (op === 'insert') return insert(frame)
  if (op === 'hello') {
    const adapter = { name: 'hash table', software: true }
    return encodeFrame({
      id: frame.id,
      ok: true,
      server: '0',
      protocol: PROTOCOL_VERSION,
      adapter,
      limits: LIMITS,
    })
  }
  const index = { name: 'hash', keyType: 'u64', payloadKind, unique: true }
  return encodeFrame({ id: frame.id, ok: true, server: {}, indexes: [index] })
}

/** Replies of up to this size leave in one system call with the others of their turn. */
const CORKED_BYTES = 16 * 1024

function serve(socket: WebSocket, stream: Duplex): void {
  let ready: Uint8Array[] = []
  const flush = () => {
    const replies = ready
    ready = []
    const corked = replies.length > 1 && replies[0].length <= CORKED_BYTES
    if (corked) stream.cork()
    for (const reply of replies) socket.send(reply)
    if (corked) stream.uncork()
  }
  const send = (reply: Uint8Array) => {
    if (ready.length === 0) setImmediate(flush)
    ready.push(reply)
  }
  socket.on('message', (data) => {
    const bytes = data instanceof Uint8Array ? asBytes(data) : new Uint8Array(0)
    try {
      send(answer(decodeFrame(bytes)))
    } catch (error) {
      send(encodeFrame(errorHeader(null, toWarpdexError(error))))
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
