import t from 'tap'
import { WarpdexError } from '../../../protocol/errors.js'
import { readRequest } from '../../../protocol/messages.js'
import type { Engine } from '../../../src/engine/engine.js'
import type { Reader } from '../../../src/engine/index-requests.js'
import { NO_LOG } from '../../../src/observe/log.js'
import { Monitor } from '../../../src/observe/monitor.js'
import { Access } from '../../../src/server/access/access.js'
import { Call } from '../../../src/server/backend.js'
import { LocalBackend } from '../../../src/server/local-backend.js'
import { ReplyMemory } from '../../../src/server/reply-memory.js'
import { getFrame } from './get-frame.js'

const definition = { name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: true }
const visit = { method: 'GET', url: '/', headers: {}, address: undefined }

/** A backend whose engine answers gets in that way. */
async function backendOf(memory: ReplyMemory, get: (reader: Reader) => object) {
  const access = new Access({ token: '', tokens: '', host: '127.0.0.1' })
  const monitor = new Monitor(NO_LOG)
  const backend = new LocalBackend({ access, maxConnections: 1, monitor, memory })
  const index = { definition, read: async (...given: [unknown, unknown, Reader]) => get(given[2]) }
  const engine = { adapter: {}, openedIndex: () => index, queries: { endAll: () => {} } }
  // All of an engine that a get needs.
  backend.begin(engine as unknown as Engine)
  const { connection = -1 } = await backend.admit(visit)
  monitor.stop()
  const call = (deadline: number) => {
    const frame = getFrame(Uint32Array.of(1), deadline)
    return backend.call(new Call(readRequest(frame), frame, connection, undefined))
  }
  return { backend, call }
}

t.test('a request whose turn comes after its deadline says so', async (t) => {
  const { call } = await backendOf(new ReplyMemory(0), (reader) => {
    const until = performance.now() + 5
    while (performance.now() < until);
    if (reader.cancelled) throw new WarpdexError('CANCELLED', 'the request was cancelled before it began')
    return { found: new Uint8Array(1), payloads: { bytes: new Uint8Array(4), width: 4 } }
  })
  await t.rejects(call(1), { code: 'DEADLINE_EXCEEDED' })
  t.match(await call(60_000), { result: { columns: {} } })
})

t.test('only so many connections are let in', async (t) => {
  const { backend } = await backendOf(new ReplyMemory(0), () => ({}))
  t.match(await backend.admit(visit), { status: 503 })
  backend.left(0)
  t.match(await backend.admit(visit), { connection: 1 })
  backend.stop()
  backend.left(1)
  t.match(await backend.admit(visit), { status: 503 })
})
