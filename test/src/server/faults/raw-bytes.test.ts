import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import { LIMITS } from '../../../../protocol/limits.js'
import { Random, seedOfRun } from '../../../random.js'
import { start } from '../start.js'
import { bareWebSocket, closeCode, frameHead, frameOf, Lead, tcp, UPGRADE } from './raw-socket.js'
import { witness } from './witness.js'

const SOCKETS = 300

t.test('what is no WebSocket frame ends its connection, and that one only', async (t) => {
  const { url, load } = await start(t)
  const endOfWatch = await witness(t, url, new Random(1))
  const send = async (...pieces: readonly Uint8Array[]) => {
    const socket = await bareWebSocket(t, url)
    socket.write(Buffer.concat(pieces))
    return closeCode(socket)
  }
  const unmasked = Uint8Array.of(Lead.binary, 1, 0)
  const empty = frameHead(0x02, 0)
  const pings = (count: number) => Array.from({ length: count }, () => frameOf(Lead.ping, Buffer.alloc(1)))
  const goodbye = frameOf(Lead.close, Uint8Array.of(3, 232))
  const cases: readonly (readonly [
    what: string,
    codes: readonly unknown[],
    pieces: readonly Uint8Array[],
  ])[] = [
    ['an unmasked frame', [1002], [unmasked]],
    ['reserved bits', [1002], [frameOf(0xf2, Buffer.alloc(4))]],
    ['a reserved kind', [1002], [frameOf(0x83, Buffer.alloc(4))]],
    ['a continuation of nothing', [1002], [frameOf(Lead.continuation, Buffer.alloc(4))]],
    ['a message within a message', [1002], [empty, frameOf(Lead.binary, Buffer.alloc(4))]],
    ['a long ping', [1002], [frameOf(Lead.ping, Buffer.alloc(126))]],
    ['a ping in parts', [1002], [frameOf(0x09, Buffer.alloc(4))]],
    ['a close of one byte', [1002], [frameOf(Lead.close, Buffer.alloc(1))]],
    ['a close with a code that is none', [1002], [frameOf(Lead.close, Uint8Array.of(0, 1))]],
    ['a close with text that is none', [1007], [frameOf(Lead.close, Uint8Array.of(3, 232, 255))]],
    ['text that is none', [1007], [frameOf(Lead.text, Uint8Array.of(0xff, 0xfe))]],
    ['a length over the limit', [1009], [frameHead(Lead.binary, LIMITS.frameBytes + 1)]],
    [
      'a length over 2^53',
      [1009],
      [Uint8Array.of(Lead.binary, 0xff, 255, 255, 255, 255, 255, 255, 255, 255)],
    ],
    ['a flood of pings', [1008], pings(4 * LIMITS.pingsPending)],
    ['as many pings as may be', [1000], [...pings(LIMITS.pingsPending), goodbye]],
    [
      'a flood of empty parts',
      [1008],
      Array.from({ length: LIMITS.messageFragments + 1 }, (_, i) => (i === 0 ? empty : frameHead(0x00, 0))),
    ],
  ]
  for (const [what, codes, pieces] of cases) t.ok(codes.includes(await send(...pieces)), what)
  t.ok((await endOfWatch()) > 0)
  t.match(load(), { connections: 1, requests: 0, requestBytes: 0, replyBytes: 0 })
})

t.test('noise, before a WebSocket is opened and after', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const server = await start(t)
  const { url, load } = server
  const endOfWatch = await witness(t, url, new Random(seed))
  const noisy = async (i: number) => {
    const socket = i % 2 === 0 ? await tcp(t, url) : await bareWebSocket(t, url)
    const asHttp =
      i % 6 === 0 ? Buffer.from(UPGRADE).subarray(0, random.below(UPGRADE.length)) : Buffer.alloc(0)
    socket.write(Buffer.concat([asHttp, random.bytes(1 + random.below(2000))]))
    socket.resume()
    random.pick([() => {}, () => socket.end(), () => socket.resetAndDestroy()])()
    return socket
  }
  const sockets = []
  for (let i = 0; i < SOCKETS; i++) sockets.push(await noisy(i))
  for (const socket of sockets) socket.destroy()
  t.ok((await endOfWatch()) > 0)
  while (load().connections > 1) await new Promise((resolve) => setTimeout(resolve, 10))
  t.match(load(), { requests: 0, requestBytes: 0, replyBytes: 0 })
})

t.test('who does not open a WebSocket in time is hung up on', async (t) => {
  const { url } = await start(t, { handshakeSeconds: 1 })
  const [silent, slow, half] = await Promise.all([tcp(t, url), tcp(t, url), tcp(t, url)])
  slow.write('GET / HTTP/1.1\r\nHost: x\r\n')
  half.write(UPGRADE.slice(0, -2))
  const dripping = setInterval(() => slow.write('X-Y: z\r\n'), 100)
  await Promise.all(
    [silent, slow, half].map((socket) => {
      socket.resume()
      return once(socket, 'close')
    }),
  )
  clearInterval(dripping)
  t.pass('all of them')
})

t.test('too many that open nothing do not keep out those who do', async (t) => {
  const { url } = await start(t, { maxConnections: 2, handshakeSeconds: 1 })
  const crowd = await Promise.all(Array.from({ length: LIMITS.handshakes - 10 }, () => tcp(t, url)))
  const one = await bareWebSocket(t, url)
  const other = await bareWebSocket(t, url)
  const third = await tcp(t, url)
  third.write(UPGRADE)
  t.match(await text(third), /^HTTP\/1\.1 503/)
  for (const socket of [...crowd, one, other]) socket.destroy()
})

t.test('TLS to a port without it', async (t) => {
  const { url } = await start(t)
  const { port } = new URL(url)
  const socket = connectTls({ port: Number(port), host: '127.0.0.1', rejectUnauthorized: false })
  const [error] = await once(socket, 'error')
  t.match(error, Error)
})
