import t, { type Test } from 'tap'
import { JetStreamLog } from '../../../src/cluster/jetstream-log.js'
import { type NatsOptions, type NatsReplicaSet, openNats, openReplicaSet } from '../../../src/cluster/nats.js'
import { Random, seedOfRun } from '../../random.js'
import { NatsServers, natsLacks } from './nats-servers.js'

const skip = natsLacks() ?? false
const random = new Random(seedOfRun())

async function open(
  t: Test,
  { addresses }: NatsServers,
  options: Partial<NatsOptions> = {},
  name = 'main',
  set = 0,
): Promise<NatsReplicaSet> {
  const defaults = { monitors: '', credentials: '', unsafe: true, node: 'test' }
  const nats = await openNats({ servers: addresses, ...defaults, ...options })
  t.teardown(() => nats.connection.close())
  return openReplicaSet(nats, name, set)
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

t.test('entries have one order, and whoever is behind appends nothing', { skip }, async (t) => {
  const servers = await NatsServers.start(t, 1)
  const [one, other] = [new JetStreamLog(await open(t, servers)), new JetStreamLog(await open(t, servers))]
  t.equal(await one.head(), 0)
  const first = await one.append(Buffer.from('one'), 0)
  await t.rejects(other.append(Buffer.from('late'), 0), { code: 'NOT_OWNER' })
  const large = 'large '.repeat(500_000)
  const second = await other.append(Buffer.from(large), first)
  // What other replica sets of the cluster append is none of its entries.
  const beside = new JetStreamLog(await open(t, servers, {}, 'main', 1))
  const others = await beside.append(Buffer.from('others'), 0)
  await t.rejects(one.append(Buffer.from('late'), first), { code: 'NOT_OWNER' })
  await t.rejects(one.append(Buffer.from(large), first), { code: 'NOT_OWNER' })
  const third = await one.append(new Uint8Array(0), second)
  t.equal(await other.head(), third)
  const all: [number, string][] = [
    [first, 'one'],
    [second, large],
    [third, ''],
  ]
  t.same(await entriesOf(one, 0, 3), all)
  t.same(await entriesOf(one, first, 2), all.slice(1))
  t.same(await entriesOf(one, second - 1, 2), all.slice(1), 'from within an entry')
  t.same(await entriesOf(one, third - 1, 1), all.slice(2), 'from before an entry')

  // No entry is cut by a trim, and the last one stays.
  await one.trim(second - 1)
  t.same(await entriesOf(one, second - 1, 2), all.slice(1))
  await t.rejects(entriesOf(one, 0, 1), { code: 'DAMAGED_FILE', message: /behind position 0/ })
  await one.trim(third)
  t.equal(await one.head(), third)
  t.same(await entriesOf(beside, 0, 1), [[others, 'others']])

  // What is still to come is read when it comes, and not when nobody wants it any more.
  const coming = entriesOf(other, third, 1)
  const fourth = await one.append(Buffer.from('four'), third)
  t.same(await coming, [[fourth, 'four']])
  const stop = new AbortController()
  const reading = other.read(fourth, stop.signal).next()
  setTimeout(() => stop.abort(), 20)
  t.same(await reading, { done: true, value: undefined })
  const soon = new AbortController()
  const begun = other.read(fourth, soon.signal).next()
  soon.abort()
  t.same(await begun, { done: true, value: undefined })
})

t.test('what is damaged, missing or none of an entry is noticed', { skip }, async (t) => {
  const servers = await NatsServers.start(t, 1)
  const spoilt = async (
    name: string,
    message: RegExp,
    spoil: (nats: NatsReplicaSet, last: number) => Promise<unknown>,
  ) => {
    const nats = await open(t, servers, {}, name)
    const log = new JetStreamLog(nats)
    const first = await log.append(Buffer.from('one'), 0)
    await spoil(nats, await log.append(Buffer.from('two'), first))
    await t.rejects(entriesOf(log, 0, 3), { code: 'DAMAGED_FILE', message }, name)
  }
  const again = async ({ manager, client, stream, subject }: NatsReplicaSet, seq: number, bytes: string) => {
    const { header } = (await manager.streams.getMessage(stream, { seq }))!
    header.delete('Nats-Expected-Last-Subject-Sequence')
    await client.publish(subject, bytes, { headers: header })
  }
  await spoilt('stray', /message 3 that is damaged/, (nats) => nats.client.publish(nats.subject, 'stray'))
  await spoilt('bytes', /message 3 that is damaged/, (nats, last) => again(nats, last, 'tWo'))
  await spoilt('twice', /lacks an entry behind position 2/, (nats, last) => again(nats, last, 'two'))
  await spoilt('begun', /lacks an entry behind position 0/, async ({ manager, stream }, last) => {
    await manager.streams.purge(stream, { seq: last })
  })
})

t.test('servers that may lose what they acknowledged are refused', { skip }, async (t) => {
  const refused = (servers: NatsServers, options: Partial<NatsOptions>, message: RegExp) =>
    t.rejects(open(t, servers, { unsafe: false, ...options }), { code: 'BAD_REQUEST', message })
  const late = await NatsServers.start(t, 1, { sync: false })
  await refused(late, {}, /the NATS server n0 .* set sync_interval: always/)
  const silent = await NatsServers.start(t, 1, { tell: false })
  await refused(silent, {}, /is not known: .*--nats-monitors/)
  await refused(silent, { monitors: late.monitors }, /the NATS server at http.* set sync_interval: always/)
  await refused(silent, { monitors: 'http://127.0.0.1:1' }, /cannot be read/)
  await refused(silent, { monitors: silent.monitors }, /replicas/)
  await refused(silent, { servers: 'nats://127.0.0.1:1' }, /cannot be reached/)

  const { manager } = await open(t, silent)
  await manager.streams.add({ name: 'warpdex-brief', subjects: ['warpdex.brief.*'], max_age: 1e9 })
  const message = /needs atomic batches, no maximum of age/
  await t.rejects(open(t, silent, {}, 'brief'), { code: 'BAD_REQUEST', message })
})

t.test('appends outlive the loss of the leader, and are there once', { skip, timeout: 60_000 }, async (t) => {
  const servers = await NatsServers.start(t, 3)
  const nats = await open(t, servers, { unsafe: false })
  const log = new JetStreamLog(nats)
  const entries: [number, string][] = []
  const append = async (length: number) => {
    const text = String(entries.length).repeat(length)
    entries.push([await log.append(Buffer.from(text), entries.at(-1)?.[0] ?? 0), text])
  }
  await append(1)
  const reading = entriesOf(new JetStreamLog(await open(t, servers, { unsafe: false })), 0, 31)
  const { cluster } = await nats.manager.streams.info(nats.stream)
  const leader = Number(cluster?.leader?.slice(1))
  const appending = (async () => {
    for (let i = 0; i < 30; i++) await append(i % 10 === 9 ? 1_500_000 : 100)
  })()
  await new Promise((resolve) => setTimeout(resolve, random.below(150)))
  await servers.kill(leader)
  await appending
  t.same(await reading, entries, 'as they were read meanwhile')
  t.same(await entriesOf(log, 0, entries.length), entries)
})
