import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Section } from '../../../../protocol/frame.js'
import { u32, values } from '../../engine/open-engine.js'
import { RawClient } from '../raw-client.js'
import { start } from '../start.js'
import { serveModel } from './model-server.js'
import { bareWebSocket } from './raw-socket.js'

const directory = t.testdir()
const numbers = { op: 'createIndex', index: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false }
const keys: Section = { type: 'u32', bytes: u32(1, 2, 3) }
const payloads: Section = { type: 'bytes', bytes: u32(10, 20, 30) }

async function writer(t: Test, url: string): Promise<RawClient> {
  const client = await RawClient.connect(t, url)
  client.socket.on('error', () => {})
  await client.ask({ id: 0, ...numbers, ifNotExists: true })
  return client
}

t.test('a stop answers what runs, and ends with 0 whatever clients go on to do', async (t) => {
  const { child, url, complaints } = await serveModel(t, {
    flags: { directory: join(directory, 'a') },
    countBytes: 12,
  })
  const client = await writer(t, url)
  const idle = await bareWebSocket(t, url)
  t.match((await client.ask({ id: 1, op: 'insert', index: 'numbers' }, { keys, payloads })).header, {
    ok: true,
  })
  let sent = 0
  const flood = setInterval(() => {
    if (client.socket.readyState !== client.socket.OPEN) return
    for (let i = 0; i < 20; i++) client.send({ id: 10 + sent++, op: 'count', index: 'numbers' }, { keys })
  }, 1)
  t.teardown(() => clearInterval(flood))
  const closed = once(client.socket, 'close')
  await setTimeout(50)
  child.kill('SIGTERM')
  t.strictSame(await once(child, 'exit'), [0, null])
  t.equal((await closed)[0], 1001)
  idle.destroy()
  t.equal(complaints(), '')
})

t.test('a stop that does not come to its end says why, ends otherwise, and loses nothing', async (t) => {
  const flags = { directory: join(directory, 'b'), shutdownSeconds: 1 }
  const { child, url, complaints } = await serveModel(t, { flags })
  const client = await writer(t, url)
  t.match((await client.ask({ id: 1, op: 'insert', index: 'numbers' }, { keys, payloads })).header, {
    ok: true,
  })
  client.send({ id: 2, op: 'count', index: 'numbers' }, { keys })
  client.send({ id: 3, op: 'count', index: 'numbers' }, { keys })
  await client.ask({ id: 4, op: 'listIndexes' })
  child.kill('SIGTERM')
  t.strictSame(await once(child, 'exit'), [3, null])
  t.match(
    complaints(),
    /not finished within 1 seconds: 2 requests of 1 clients; work on "numbers"\. What was acknowledged/,
  )
  const again = await start(t, { directory: flags.directory })
  const reader = await writer(t, again.url)
  const { sections } = await reader.ask({ id: 1, op: 'get', index: 'numbers' }, { keys })
  t.strictSame(values(sections.get('payloads')!.bytes), [10, 20, 30])
})
