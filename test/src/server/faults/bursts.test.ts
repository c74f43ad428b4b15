import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import type { Section } from '../../../../protocol/frame.js'
import { type Opened, requestFrame } from '../../../wire.js'
import { u32 } from '../../engine/open-engine.js'
import { RawClient } from '../raw-client.js'
import { serveModel } from './model-server.js'
import { bareWebSocket, frameOf, Lead } from './raw-socket.js'

const MIB = 2 ** 20
const REQUESTS = 256
const numbers = { op: 'createIndex', index: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false }
const keys: Section = { type: 'u32', bytes: u32(1) }
const ask = (id: number) => ({ id, op: 'count', index: 'numbers' })
const burst = (opened: Opened) =>
  Buffer.concat(
    Array.from({ length: REQUESTS }, (_, id) =>
      frameOf(Lead.binary, requestFrame(ask(id), { keys }, opened)),
    ),
  )

/** Peak of a process' memory in MiB. */
const peakOf = (pid: number | undefined) =>
  Number(/^VmHWM:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

const linux = process.platform === 'linux'

t.test('a burst of requests with large replies is answered whole', async (t) => {
  const flags = { directory: t.testdir(), ioThreads: 1 }
  const { url } = await serveModel(t, { flags, countBytes: MIB + MIB / 4 })
  const client = await RawClient.connect(t, url)
  await client.ask({ id: 0, ...numbers })
  for (let id = 1; id <= REQUESTS; id++) client.send(ask(id), { keys })
  const answered = new Set<unknown>()
  for (let i = 0; i < REQUESTS; i++) {
    const { header } = await client.reply()
    if (Object(header).ok === true) answered.add(Object(header).id)
  }
  t.equal(answered.size, REQUESTS)
})

t.test('who reads slowly but steadily gets all, in bounded memory', { skip: !linux }, async (t) => {
  const countBytes = MIB / 2
  const limits = { replyBytesQueued: 16 * countBytes, replyBytesInAll: 18 * countBytes, stallSeconds: 2 }
  const flags = { directory: t.testdir(), ioThreads: 0 }
  const { child, url } = await serveModel(t, { flags, limits, countBytes })
  const first = await RawClient.connect(t, url)
  t.match((await first.ask({ id: 0, ...numbers })).header, { ok: true })
  const requests = burst(await first.open('numbers'))
  const before = peakOf(child.pid)
  const total = REQUESTS * countBytes
  const readSlowly = async () => {
    const socket = await bareWebSocket(t, url)
    socket.write(requests)
    let read = 0
    for await (const { length } of socket) {
      if (Math.floor(read / MIB) < Math.floor((read + length) / MIB)) await setTimeout(10)
      read += length
      if (read >= total) break
    }
    return read
  }
  const bytes = await Promise.all([readSlowly(), readSlowly(), readSlowly()])
  t.ok(
    bytes.every((read) => read >= total),
    `${bytes} of ${total}`,
  )
  t.match((await first.ask({ id: 1, op: 'listIndexes' })).header, { ok: true })
  const grown = peakOf(child.pid) - before
  t.ok(grown < 200, `the server grew by ${Math.round(grown)} MiB at most`)
})
