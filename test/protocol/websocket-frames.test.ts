import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { joinedFrames } from '../../protocol/websocket-frames.js'

/** Around the lengths from which on a frame says its length in another form. */
const LENGTHS = [0, 1, 3, 4, 124, 125, 126, 127, 255, 256, 65_534, 65_535]

const messages = LENGTHS.map((length, i) => Uint8Array.from({ length }, (_, at) => at * 7 + i))

/** The first messages that come to a socket. */
function received(socket: WebSocket): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const all: Buffer[] = []
    socket.on('message', (data: Buffer, isBinary) => {
      if (!isBinary) reject(new Error('text came'))
      if (all.push(data) === messages.length) resolve(all)
    })
    socket.on('error', reject)
  })
}

t.test('the library reads what was written behind its back, with masks and without', async (t) => {
  const http = createServer()
  const server = new WebSocketServer({ noServer: true })
  const fromClient = new Promise<Buffer[]>((resolve, reject) => {
    http.on('upgrade', (request, stream, head) =>
      server.handleUpgrade(request, stream, head, (socket) => {
        received(socket).then(resolve, reject)
        stream.write(joinedFrames(messages))
      }),
    )
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const client = new WebSocket(`ws://127.0.0.1:${(http.address() as AddressInfo).port}`)
  t.teardown(() => {
    client.terminate()
    http.close()
    http.closeAllConnections()
  })
  const fromServer = received(client)
  client.once('upgrade', ({ socket }) => {
    let mask = 0
    const nextMask = () => {
      mask = (mask * 1_664_525 + 1_013_904_223) >>> 0
      return mask
    }
    client.once('open', () => socket.write(joinedFrames(messages, nextMask)))
  })
  const wanted = messages.map((message) => Buffer.from(message))
  t.same(await fromServer, wanted)
  t.same(await fromClient, wanted)
})

t.test('nothing makes nothing', (t) => {
  t.equal(joinedFrames([]).byteLength, 0)
  t.end()
})
