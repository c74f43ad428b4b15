import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Client } from '../../../clients/sdk/client.js'
import { connect } from '../../../clients/sdk/index.js'
import { NodeConnection } from '../../../clients/sdk/node-connection.js'
import { wireColumn } from '../../../protocol/data-request.js'
import type { Sections } from '../../../protocol/frame.js'
import type { RunningServer } from '../../../src/server/index.js'
import { natsLacks } from '../../src/cluster/nats-servers.js'
import { startNodes } from '../../src/cluster/start-nodes.js'
import { RawClient } from '../../src/server/raw-client.js'
import { type Opened, type RequestFields, requestFrame } from '../../wire.js'

const lack = natsLacks()
if (lack !== undefined) t.comment(lack)
const skip = lack ?? false

const DEFINITION = { name: 'a', keyType: 'u32', payloadKind: 'u32', unique: false } as const

/** Two replica sets, and an index on both. */
async function start(t: Test, count = 2): Promise<RunningServer[]> {
  const nodes = await startNodes(t, count, 2)
  const client = await connect(nodes[0]!.url)
  t.teardown(() => client.close())
  await client.createIndex(DEFINITION, { splitAt: [100] })
  return nodes
}

function setOf({ engine }: RunningServer): number {
  return engine.replica.cluster!().set
}

/** A client that knows of no replica sets. */
async function plain(t: Test, urls: string | readonly string[], token?: string): Promise<Client> {
  const client = new Client(await NodeConnection.open(urls, { token }))
  t.teardown(() => client.close({ now: true }))
  return client
}

async function raw(t: Test, { url }: RunningServer, client = 'raw'): Promise<RawClient> {
  const opened = await RawClient.connect(t, url)
  await opened.ask({ id: 0, op: 'hello', protocol: 2, client })
  return opened
}

function items(keys: readonly number[]): Sections {
  const values = Uint32Array.from(keys)
  return { keys: wireColumn('u32', values), payloads: wireColumn('bytes', values) }
}

/** Sends a request by a handle that another connection was given. */
function ask(client: RawClient, fields: RequestFields, sections: Sections, opened: Opened) {
  client.socket.send(requestFrame({ index: 'a', ...fields }, sections, opened))
  return client.reply()
}

t.test('a write that is sent again by another node is made once', { skip }, async (t) => {
  const [one, other] = (await start(t)) as [RunningServer, RunningServer]
  const first = await raw(t, one)
  const opened = await first.open('a')
  const insert = { op: 'insert', writeId: 7 } as const
  const written = await ask(first, { id: 1, ...insert }, items([1, 200]), opened)
  first.socket.terminate()
  const second = await raw(t, other)
  const again = await ask(second, { id: 2, ...insert }, items([1, 200]), opened)
  t.same(again.sections.get('codes'), written.sections.get('codes'))

  // A part of a load is behind the one before it also where that went by another node, and to another replica set.
  const load = (client: RawClient, id: number, keys: readonly number[], after?: number) =>
    ask(client, { id, op: 'load', writeId: id, ...(after && { after }) }, items(keys), opened)
  await load(second, 11, [2, 3])
  await load(second, 12, [201], 11)
  const third = await raw(t, one)
  t.equal((await load(third, 12, [201], 11)).header.rows, 1)
  t.equal((await load(third, 13, [4], 12)).header.rows, 1)
  t.match((await load(third, 15, [5], 14)).header, { error: { code: 'CANCELLED' } })
  const client = await plain(t, other.url)
  const keys: unknown[] = []
  for await (const key of client.index('a').keys()) keys.push(key)
  t.same(keys, [1, 2, 3, 4, 200, 201])

  // A handle of an index that is gone is refused; finding out why is left to the client.
  await client.dropIndex('a')
  const gone = await ask(third, { id: 16, op: 'get' }, { keys: items([1]).keys! }, opened)
  t.match(gone.header, { error: { code: 'UNKNOWN_INDEX' } })
  const unknown = await ask(third, { id: 17, op: 'get' }, { keys: items([1]).keys! }, opened)
  t.match(unknown.header, { error: { code: 'INDEX_CHANGED', message: /open it again/ } })
})

t.test('a batch over several replica sets is one unit, and made once', { skip }, async (t) => {
  const [one, other] = (await start(t)) as [RunningServer, RunningServer]
  const client = await plain(t, one.url)
  const rows = await client.createRelation({
    name: 'r',
    columns: [{ name: 'u', type: 'u32', nullable: false }],
  })
  const index = client.index('a')
  t.same([...(await index.batch().put(200, 1).put(1, 2).put(200, 3).write())], [0, 0, 1])
  const written = await client.write([
    rows.batch({ u: [1, 2] }),
    index.batch().delete(1).insert(200, 4).expect(1, { exists: true }),
  ])
  t.same(written, [{ first: 0, rows: 2 }, Uint8Array.of(3, 0)])
  await t.rejects(index.batch().put(1, 5).put(200, 5).expect(200, { exists: false }).write(), {
    code: 'CONDITION_FAILED',
    item: 0,
  })
  t.same(await index.getAllMany([1, 200]).then((all) => [...all.of(0), ...all.of(1)]), [3, 4])

  const opened = await (await raw(t, one)).open('a')
  const write = { op: 'write', writeId: 7 } as const
  const columns = { ops: wireColumn('u8', Uint8Array.of(0, 0)), ...items([1, 201]) }
  for (const node of [one, other]) {
    const { sections } = await ask(await raw(t, node), { id: 1, ...write }, columns, opened)
    t.same(sections.get('codes')?.bytes, Uint8Array.of(0, 0))
  }
  t.same([...(await index.countMany([1, 201]))], [1, 1])
})

t.test('what is asked has the rights of whoever asks', { skip }, async (t) => {
  const tokens = join(t.testdir(), 'tokens.json')
  const rules = (index: string, ...allow: string[]) => [{ index, allow }]
  writeFileSync(
    tokens,
    JSON.stringify({
      tokens: [
        { name: 'all', token: 'everything-anywhere', rights: rules('*', 'read', 'write', 'create', 'drop') },
        { name: 'reader', token: 'only-reads-what-begins-with-a', rights: rules('a*', 'read') },
      ],
    }),
  )
  const nodes = await startNodes(t, 2, 2, { tokens })
  const all = await plain(t, nodes[0]!.url, 'everything-anywhere')
  for (const name of ['a', 'b']) {
    const index = await all.createIndex({
      ...DEFINITION,
      name,
      placement: [{ set: 0 }, { set: 1, from: '64000000' }],
    })
    await index.putMany([1, 200], [1, 2])
  }
  for (const { url } of nodes) {
    const reader = await plain(t, url, 'only-reads-what-begins-with-a')
    t.same([...(await reader.index('a').getMany([1, 200])).payloads], [1, 2])
    await t.rejects(reader.index('a').put(1, 1), { code: 'UNAUTHORISED' })
    await t.rejects(reader.index('b').get(1), { code: 'UNAUTHORISED' })
    t.same(
      (await reader.listIndexes()).map(({ name }) => name),
      ['a'],
    )
  }
})

t.test('requests take effect in order, and may be given up', { skip }, async (t) => {
  const [one] = (await start(t)) as [RunningServer]
  const client = await raw(t, one)
  const opened = await client.open('a')
  const replies = new Map<unknown, unknown>()
  const send = (fields: RequestFields, sections: Sections) =>
    client.socket.send(requestFrame({ index: 'a', ...fields }, sections, opened))
  for (let i = 0; i < 20; i++) {
    send({ id: 2 * i, op: 'insert', mode: 'replace' }, items([i % 3, 200 + (i % 3)]))
    send({ id: 2 * i + 1, op: 'count' }, { keys: items([i % 3, 200 + (i % 3)]).keys! })
  }
  send({ id: 100, op: 'scan', limit: 0 }, {})
  for (let i = 0; i < 41; i++) {
    const { id, header, sections } = await client.reply()
    replies.set(id, header.ok === true ? sections.get('counts')?.bytes : header.error)
  }
  for (let i = 0; i < 20; i++) t.same(replies.get(2 * i + 1), Uint8Array.of(1, 0, 0, 0, 1, 0, 0, 0))
  t.match(replies.get(100), { code: 'BAD_REQUEST', message: /limit from 1/ })

  // A feed is of one replica set.
  await client.ask({ id: 101, op: 'createIndex', index: 'whole', keyType: 'u32', payloadKind: 'u32' })
  const whole = await client.open('whole')
  client.socket.send(requestFrame({ id: 102, op: 'watch', index: 'whole', limit: 0 }, {}, whole))
  await client.ask({ id: 103, op: 'cluster' })
  client.send({ id: 104, op: 'cancel', target: 102 })
  const ended = [await client.reply(), await client.reply()].find(({ id }) => id === 102)
  t.match(ended?.header, { error: { code: 'CANCELLED' } })
  t.match((await client.ask({ id: 105, op: 'position' })).header, { error: { message: /\?set=0/ } })
})

t.test('a client goes on with the nodes that are left', { skip }, async (t) => {
  const nodes = await start(t, 4)
  const urls = nodes.map(({ url }) => url)
  const index = (await plain(t, urls)).index('a')
  let written = 0
  let isOver = false
  const writing = (async () => {
    for (; !isOver || written < 50; written++) await index.insertMany([written, 1000 + written], [1, 2])
  })()
  // One of each replica set, the first of which forwards at first.
  const other = nodes.find((node) => setOf(node) !== setOf(nodes[0]!))!
  for (const node of [nodes[0]!, other]) {
    const before = written
    while (written < before + 10) await new Promise((resolve) => setTimeout(resolve, 5))
    await node.close()
  }
  isOver = true
  await writing
  const keys = Array.from({ length: written }, (_, i) => [i, 1000 + i]).flat()
  t.same(new Set(await index.countMany(keys)), new Set([1]), 'each is there once')
})

t.test('a node stops while nobody answers what it has forwarded', { skip }, async (t) => {
  const nodes = await start(t)
  const [one, other] = nodes.sort((a, b) => setOf(a) - setOf(b))
  const client = await raw(t, one!)
  const opened = await client.open('a')
  await ask(client, { id: 1, op: 'get' }, { keys: items([200]).keys! }, opened)
  await other!.close()
  const keys = items([200]).keys!
  const answers = [ask(client, { id: 2, op: 'get' }, { keys }, opened)]
  const closed = one!.close()
  t.match((await answers[0]!).header, { id: 2, error: { code: 'NOT_OWNER' } })
  await closed
})
