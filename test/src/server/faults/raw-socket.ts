import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'

/** A bare TCP connection to a server, which is not read unless a test does. */
export async function tcp(t: Test, url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.on('error', () => {})
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

export const UPGRADE =
  'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n'

/** The same after the opening of a WebSocket: what is written is its frames. It is paused. */
export async function bareWebSocket(t: Test, url: string): Promise<Socket> {
  const socket = await tcp(t, url)
  socket.write(UPGRADE)
  const [answer] = await once(socket, 'data')
  if (!String(answer).startsWith('HTTP/1.1 101')) throw new Error(String(answer))
  socket.pause()
  return socket
}

/** First byte of frames: the end of a message, and what it is. */
export const Lead = {
  binary: 0x82,
  text: 0x81,
  continuation: 0x80,
  close: 0x88,
  ping: 0x89,
  pong: 0x8a,
} as const

/** Head of a client's frame, whose mask is zero so that content stands in it as it is. */
export function frameHead(lead: number, length: number): Buffer {
  const mask = Buffer.alloc(4)
  if (length < 126) return Buffer.concat([Uint8Array.of(lead, 0x80 | length), mask])
  const head = Buffer.alloc(10)
  head[0] = lead
  head[1] = 0x80 | 127
  head.writeBigUInt64BE(BigInt(length), 2)
  return Buffer.concat([head, mask])
}

export function frameOf(lead: number, content: Uint8Array): Buffer {
  return Buffer.concat([frameHead(lead, content.length), content])
}

/** Reads all to the end of the connection: the code of the close frame at its end, or undefined where it just ended. */
export async function closeCode(socket: Socket): Promise<number | undefined> {
  let tail = Buffer.alloc(0)
  socket.on('data', (data: Buffer) => {
    tail = Buffer.concat([tail, data]).subarray(-1024)
  })
  socket.resume()
  if (!socket.closed) await once(socket, 'close')
  const at = tail.lastIndexOf(Lead.close)
  return at < 0 || at + 4 > tail.length ? undefined : tail.readUInt16BE(at + 2)
}
