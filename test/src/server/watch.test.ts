import t, { type Test } from 'tap'
import type { Frame, Section } from '../../../protocol/frame.js'
import { LIMITS } from '../../../protocol/limits.js'
import { RawClient } from './raw-client.js'
import { start } from './start.js'

function u32(...numbers: number[]): Section {
  return { type: 'u32', bytes: new Uint8Array(Uint32Array.from(numbers).buffer) }
}

function numbersIn({ sections }: Frame, name: string): number[] {
  return [...new Uint32Array(Uint8Array.from(sections.get(name)?.bytes ?? []).buffer)]
}

function positionIn({ sections }: Frame): number {
  return Number(new BigUint64Array(Uint8Array.from(sections.get('position')?.bytes ?? []).buffer)[0])
}

const WATCH = { op: 'watch', index: 'n', limit: 100 }

async function clientOf(t: Test, url: string, options = {}): Promise<RawClient> {
  const client = await RawClient.connect(t, url, options)
  t.match((await client.ask({ id: 0, op: 'hello', protocol: 2, client: 'a' })).header, { ok: true })
  return client
}

async function withIndex(t: Test, url: string): Promise<RawClient> {
  const client = await clientOf(t, url)
  await client.ask({
    ...{ id: 1, op: 'createIndex', index: 'n', keyType: 'u32', payloadKind: 'u32', unique: true },
    ifNotExists: true,
  })
  return client
}

const insert = (client: RawClient, ...keys: number[]) =>
  client.ask({ id: 2, op: 'insert', index: 'n' }, { keys: u32(...keys), payloads: u32(...keys) })

t.test('batches come behind the position that a request names', async (t) => {
  const { url } = await start(t)
  const client = await withIndex(t, url)
  t.equal(positionIn(await client.ask({ id: 3, ...WATCH })), 0)
  await insert(client, 1, 2)
  await insert(client, 2, 3)
  await client.ask({ id: 4, op: 'delete', index: 'n' }, { keys: u32(1, 9) })
  const page = await client.ask({ id: 3, ...WATCH, position: 0 })
  t.equal(positionIn(page), 0)
  t.same(numbersIn(page, 'offsets'), [0, 2, 3, 4])
  t.same([...page.sections.get('ops')!.bytes], [0, 0, 3])
  t.same(numbersIn(page, 'keys'), [1, 2, 3, 1])
  t.same(numbersIn(page, 'payloads'), [1, 2, 3, 0])
  const next = await client.ask({ id: 3, ...WATCH, limit: 1, position: 1 })
  t.same(numbersIn(next, 'keys'), [3])
  const range = { from: u32(2), to: u32(3) }
  await client.ask({ id: 5, op: 'deleteRange', index: 'n', toExclusive: true }, range)
  const deletion = await client.ask({ id: 3, ...WATCH, position: 3 })
  t.same([...deletion.sections.get('ops')!.bytes], [8 + 2])
  t.same([numbersIn(deletion, 'from'), numbersIn(deletion, 'to')], [[2], [3]])
  t.match((await client.ask({ id: 3, ...WATCH, position: 5 })).header, { error: { code: 'POSITION_GONE' } })
})

t.test('a version has the position of the last batch that it sees', async (t) => {
  const { url } = await start(t)
  const client = await withIndex(t, url)
  await insert(client, 1)
  await client.ask({ id: 3, op: 'openVersion', version: 7 })
  await insert(client, 2)
  const page = await client.ask({ id: 4, ...WATCH, version: 7 })
  t.equal(positionIn(page), 1)
  t.same(numbersIn(page, 'keys'), [2])
  t.match((await client.ask({ id: 4, ...WATCH, version: 8 })).header, { error: { code: 'VERSION_GONE' } })
})

t.test('with a limit of 0 a request waits until there is a batch', async (t) => {
  const directory = t.testdir()
  for (const ioThreads of [0, 1]) {
    const { url } = await start(t, { ioThreads, directory: `${directory}/${ioThreads}` })
    const [client, writer] = [await withIndex(t, url), await withIndex(t, url)]
    const waiting = { id: 9, ...WATCH, limit: 0, position: 0 }
    client.send(waiting)
    const answered = client.reply()
    t.equal(await Promise.race([answered, insertLater(writer)]), 'before')
    const reply = await answered
    t.match(reply, { id: 9, header: { ok: true } })
    t.equal(reply.sections.size, 1, 'it tells nothing')
    t.match(await client.ask(waiting), { header: { ok: true } }, 'at once where there is one')
    client.send({ ...waiting, position: 1 })
    const replies = [await client.ask({ id: 10, op: 'cancel', target: 9 }), await client.reply()]
    const cancelled = replies.find(({ id }) => id === 9)
    t.match(cancelled, { header: { error: { code: 'CANCELLED' } } })
  }
})

/** Writes after a while. Resolves before that. */
async function insertLater(writer: RawClient): Promise<string> {
  await writer.ask({ id: 3, op: 'stats', index: 'n' })
  setImmediate(() => void insert(writer, 1))
  return 'before'
}

t.test('so many may wait on a connection, and hold up no other requests', async (t) => {
  const { url } = await start(t, {}, { limits: { requestsInFlight: 2, watchWaits: 3 } })
  const client = await withIndex(t, url)
  const wait = (id: number) => client.send({ id, ...WATCH, limit: 0, position: 0 })
  for (const id of [11, 12, 13, 14]) wait(id)
  t.match(await client.reply(), {
    id: 14,
    header: { error: { code: 'TOO_LARGE', message: /^3 feeds wait .* open another/ } },
  })
  t.match(await client.ask({ id: 15, op: 'stats', index: 'n' }), { id: 15, header: { ok: true } })
  await insert(await withIndex(t, url), 1)
  for (let i = 0; i < 3; i++) t.match(await client.reply(), { header: { ok: true } })
  wait(16)
  t.match(await client.reply(), { id: 16, header: { ok: true } }, 'there is room again')
})

t.test('who waits is told of another name, and is answered when the server stops', async (t) => {
  const server = await start(t)
  const [client, other] = [await withIndex(t, server.url), await withIndex(t, server.url)]
  client.send({ id: 9, ...WATCH, limit: 0, position: 0 })
  await client.ask({ id: 4, op: 'stats' }).catch(() => {})
  await other.ask({ id: 3, op: 'renameIndex', index: 'n', to: 'm' })
  t.match(await client.reply(), { id: 9, header: { error: { code: 'INDEX_CHANGED' } } })
  await other.open('m')
  other.send({ id: 9, ...WATCH, index: 'm', limit: 0, position: 0 })
  await other.ask({ id: 4, op: 'stats' })
  const since = performance.now()
  await server.close()
  t.ok(performance.now() - since < LIMITS.watchSeconds * 500)
})
