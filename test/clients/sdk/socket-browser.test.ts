import t from 'tap'
import { WebSocket } from 'ws'
import { openSocket } from '../../../clients/sdk/socket-browser.js'
import { decodeFrame, encodeFrame, PROTOCOL_VERSION } from '../../../protocol/frame.js'
import { FakeServer } from './fake-server.js'

t.test('the socket for browsers works on the standard interface of WebSockets', async (t) => {
  const server = new FakeServer()
  await server.start()
  const before = Object.getOwnPropertyDescriptor(globalThis, 'WebSocket')
  Object.defineProperty(globalThis, 'WebSocket', { value: WebSocket, configurable: true, writable: true })
  t.teardown(async () => {
    if (before !== undefined) Object.defineProperty(globalThis, 'WebSocket', before)
    await server.stop()
  })
  const events: string[] = []
  await new Promise<void>((resolve) => {
    const socket = openSocket(
      server.url,
      { token: undefined, ca: undefined },
      {
        onOpen: () =>
          socket.send(encodeFrame({ id: 0, op: 'hello', protocol: PROTOCOL_VERSION, client: 'c' })),
        onMessage: (bytes) => {
          events.push(String(decodeFrame(bytes).header.server))
          socket.close()
        },
        onClose: (reason) => {
          events.push(reason)
          resolve()
        },
      },
    )
  })
  t.strictSame(events, ['fake', 'close code 1005'])
})
