import t, { type Test } from 'tap'
import { JetStreamLog } from '../../../src/cluster/jetstream-log.js'
import { Lease } from '../../../src/cluster/lease.js'
import { type Nats, openNats } from '../../../src/cluster/nats.js'
import { NatsServers, natsLacks } from './nats-servers.js'

const lack = natsLacks()
if (lack !== undefined) t.comment(lack)
const test = lack === undefined ? t.test : () => {}

function open(t: Test, servers: NatsServers, unsafe: boolean): Promise<Nats> {
  const { addresses, monitors } = servers
  const options = { servers: addresses, monitors, credentials: '', unsafe, name: 'main', node: 'test' }
  return openNats(options).then((nats) => {
    t.teardown(() => nats.connection.close())
    return nats
  })
}

async function entriesOf(log: JetStreamLog, after: number, count: number): Promise<[number, string][]> {
  const stop = new AbortController()
  const entries: [number, string][] = []
  for await (const { position, bytes } of log.read(after, stop.signal)) {
    entries.push([position, Buffer.from(bytes).toString('latin1')])
    if (entries.length === count) break
  }
  return entries
}

test('entries have one order, and whoever is behind appends nothing', async (t) => {
  const servers = await NatsServers.start(t, 1)
  const [one, other] = [
    new JetStreamLog(await open(t, servers, true)),
    new JetStreamLog(await open(t, servers, true)),
  ]
  t.equal(await one.head(), 0)
  const first = await one.append(Buffer.from('one'), 0)
  await t.rejects(other.append(Buffer.from('late'), 0), { code: 'NOT_OWNER' })
  const large = 'large '.repeat(500_000)
  const second = await other.append(Buffer.from(large), first)
  await t.rejects(one.append(Buffer.from('late'), first), { code: 'NOT_OWNER' })
  const third = await one.append(new Uint8Array(0), second)
  t.equal(await other.head(), third)
  t.same(await entriesOf(one, 0, 3), [
    [first, 'one'],
    [second, large],
    [third, ''],
  ])
  t.same(await entriesOf(one, first, 2), [
    [second, large],
    [third, ''],
  ])
  t.same(
    await entriesOf(one, second - 1, 2).catch(({ code }) => code),
    'DAMAGED_FILE',
    'from within an entry',
  )

  // What is still to come is read when it comes.
  const coming = entriesOf(other, third, 1)
  const fourth = await one.append(Buffer.from('four'), third)
  t.same(await coming, [[fourth, 'four']])
})
test('a message that is missing, or that is none of an entry, is noticed', async (t) => {
  const servers = await NatsServers.start(t, 1)
  const nats = await open(t, servers, true)
  const log = new JetStreamLog(nats)
  const first = await log.append(Buffer.from('one'), 0)
  const second = await log.append(Buffer.from('two'), first)
  await log.append(Buffer.from('three'), second)
  await nats.manager.streams.deleteMessage(nats.stream, second)
  await t.rejects(entriesOf(log, 0, 2), { code: 'DAMAGED_FILE', message: /behind position 1/ })
  await nats.client.publish(nats.subject, 'stray')
  await t.rejects(entriesOf(log, second, 2), { code: 'DAMAGED_FILE' })
})

test('servers that may lose what they acknowledged are refused', async (t) => {
  const servers = await NatsServers.start(t, 1, false)
  const { addresses, monitors } = servers
  const options = { servers: addresses, monitors, credentials: '', unsafe: false, name: 'main', node: 'test' }
  await t.rejects(openNats(options), { code: 'BAD_REQUEST', message: /set sync_interval: always/ })
  await t.rejects(openNats({ ...options, monitors: '' }), { code: 'BAD_REQUEST', message: /--nats-monitors/ })
  const synced = await NatsServers.start(t, 1)
  const { addresses: alone, monitors: its } = synced
  await t.rejects(openNats({ ...options, servers: alone, monitors: its }), {
    code: 'BAD_REQUEST',
    message: /replicas/,
  })
  await t.rejects(openNats({ ...options, servers: 'nats://127.0.0.1:1', unsafe: true }), {
    code: 'BAD_REQUEST',
    message: /cannot be reached/,
  })
})

test("a lease is one node's, is given up by a close, and runs out where its node is gone", async (t) => {
  const servers = await NatsServers.start(t, 1)
  const [one, other] = [await open(t, servers, true), await open(t, servers, true)]
  const first = new Lease(one.bucket, 'ws://one')
  await first.gained()
  const second = new Lease(other.bucket, 'ws://other')
  t.teardown(() => second.close())
  let both = false
  const watch = setInterval(() => {
    both ||= first.isHeld && second.isHeld
  }, 5)
  t.teardown(() => clearInterval(watch))
  while (second.owner === undefined) await new Promise((resolve) => setTimeout(resolve, 10))
  t.equal(second.owner, 'ws://one')
  await first.close()
  await second.gained()
  t.notOk(first.isHeld)

  // Its node is cut off.
  await other.connection.close()
  const third = new Lease(one.bucket, 'ws://third')
  t.teardown(() => third.close())
  await second.lost()
  await third.gained()
  t.notOk(both, 'never two at a time')
})

test('appends outlive the loss of a server, and are there once', { timeout: 60_000 }, async (t) => {
  const servers = await NatsServers.start(t, 3)
  const nats = await open(t, servers, false)
  const log = new JetStreamLog(nats)
  let position = 0
  const texts: string[] = []
  const append = async () => {
    texts.push(`entry ${texts.length}`)
    position = await log.append(Buffer.from(texts.at(-1)!), position)
  }
  for (let i = 0; i < 5; i++) await append()
  const { cluster } = await nats.manager.streams.info(nats.stream)
  const leader = Number(cluster?.leader?.slice(1))
  const killing = servers.kill(leader)
  for (let i = 0; i < 5; i++) await append()
  await killing
  t.same(
    (await entriesOf(log, 0, texts.length)).map(([, text]) => text),
    texts,
  )
})
