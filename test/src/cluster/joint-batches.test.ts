import t, { type Test } from 'tap'
import { encodeEntry } from '../../../persistence/replication/change-sets.js'
import { encodeDataRequest } from '../../../protocol/data-frame.js'
import type { Frame, Section } from '../../../protocol/frame.js'
import { JetStreamLog } from '../../../src/cluster/jetstream-log.js'
import type { Progress, Word } from '../../../src/cluster/joint-part.js'
import { type NatsReplicaSet, openNats, openReplicaSet } from '../../../src/cluster/nats.js'
import { RawClient } from '../server/raw-client.js'
import { start } from '../server/start.js'
import { natsLacks } from './nats-servers.js'
import { clusterSettings } from './start-nodes.js'

const skip = natsLacks() ?? false

function u32(...numbers: number[]): Section {
  return { type: 'u32', bytes: new Uint8Array(Uint32Array.from(numbers).buffer) }
}

/** What the node of replica set 1 would be, as far as one batch is concerned: it does what a test says, and no more. */
class Peer {
  readonly #nats: NatsReplicaSet
  readonly #log: JetStreamLog
  readonly #id: string
  readonly #attempt = crypto.randomUUID()
  #progress: Progress = { stage: 'here' }
  #told: Word[] = []
  #wake: () => void = () => {}

  constructor(nats: NatsReplicaSet, id: string) {
    this.#nats = nats
    this.#log = new JetStreamLog(nats)
    this.#id = id
    nats.connection.subscribe(nats.subjectTo(1), {
      callback: (_error, message) => {
        const { id, ...word } = message.json<Word & { readonly id: string }>()
        if (id !== this.#id) return
        if (word.asks) this.say(this.#progress)
        this.#told.push(word)
        this.#wake()
      },
    })
  }

  /** @param asks as a node does that has just come */
  say(progress: Progress, asks = false): void {
    this.#progress = progress
    const word: Word = { rank: 1, attempt: this.#attempt, progress, asks }
    this.#nats.connection.publish(this.#nats.subjectTo(0), JSON.stringify({ id: this.#id, ...word }))
  }

  /** What the node of replica set 0 has told, once it is so far. */
  async hears<S extends Progress['stage']>(stage: S): Promise<Progress & { readonly stage: S }> {
    for (;;) {
      const word = this.#told.find(({ progress }) => progress.stage === stage)
      if (word !== undefined) return word.progress as Progress & { readonly stage: S }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  /** Has JetStream append both parts. @returns what a node says of that */
  async commit(): Promise<Progress> {
    const { batch, count } = await this.hears('staged')
    const expected = await this.#log.head()
    const added = await this.#log.addTo({ id: batch, before: count, isLast: true }, encodeEntry([]), expected)
    return { stage: 'committed', ...added }
  }
}

/** A node of replica set 0 of two, the other one of which the test is. */
async function open(t: Test) {
  const settings = await clusterSettings(t)
  const { url } = await start(t, { ...settings, replicaSets: 2, replicaSet: '0' })
  const options = { servers: settings.nats, monitors: '', credentials: '', unsafe: true, node: 'test' }
  const nats = await openReplicaSet(await openNats(options), settings.cluster, 1)
  t.teardown(() => nats.connection.close())
  const connect = async () => {
    const client = await RawClient.connect(t, `${url}/?set=0`)
    await client.ask({ id: 0, op: 'hello', protocol: 2, client: 'c' })
    await client.open('a').catch(() => {})
    return client
  }
  const client = await connect()
  const index = { index: 'a', keyType: 'u32', payloadKind: 'u32', unique: true }
  for (let isOwner = false; !isOwner; )
    isOwner = (await (await connect()).ask({ id: 1, op: 'createIndex', ...index })).header.ok === true
  client.socket.terminate()
  const { bucket } = await openReplicaSet(nats, settings.cluster, 0)
  /** Has somebody else own replica set 0, who does not renew that. */
  const depose = () => bucket.put('owner', JSON.stringify({ id: 'other', url: 'ws://other' }))
  return { connect, depose, peer: (id: string) => new Peer(nats, id) }
}

/** Sends a batch that puts a payload, a part of one that replica set 1 has, too. */
async function sendBatch(client: RawClient, id: string | undefined, writeId: number, payload: number) {
  const { handle, generation } = await client.open('a')
  const columns = {
    ops: { type: 'u8', bytes: Uint8Array.of(1) },
    keys: u32(1),
    payloads: u32(payload),
  } as const
  const bytes = encodeDataRequest({ id: 0, op: 'write', count: 1, columns, handle, generation })
  const joint = id === undefined ? undefined : { id, sets: [0, 1] }
  client.send({ id: writeId, op: 'batch', writeId, joint }, { 0: { type: 'bytes', bytes } })
  return client.reply()
}

async function payloadOf(client: RawClient): Promise<number | undefined> {
  const { sections } = await client.ask({ id: 90, op: 'get', index: 'a' }, { keys: u32(1) })
  return new Uint32Array(Uint8Array.from(sections.get('payloads')?.bytes ?? []).buffer)[0]
}

function codesOf({ header, sections }: Frame): unknown {
  return header.ok === true ? [...(sections.get('codes')?.bytes ?? [])] : header.error
}

t.test('a node makes its part of a batch when others make theirs', { skip }, async (t) => {
  const { connect, depose, peer } = await open(t)

  await t.test('and readers, and whoever asks again, wait for that', async (t) => {
    const other = peer('one')
    const [first, again, reader] = await Promise.all([connect(), connect(), connect()])
    const lost = sendBatch(first, 'one', 1, 10)
    other.say({ stage: 'ready' }, true)
    await other.hears('staged')
    first.socket.terminate()
    let isRead = false
    const repeated = sendBatch(again, 'one', 1, 10)
    const read = payloadOf(reader).finally(() => {
      isRead = true
    })
    await new Promise((resolve) => setTimeout(resolve, 50))
    t.equal(isRead, false)
    other.say(await other.commit())
    t.equal(await read, 10)
    t.same(codesOf(await repeated), [0])
    await Promise.race([lost, undefined])
  })

  await t.test('or nothing, where another one refuses its part', async (t) => {
    const other = peer('two')
    const client = await connect()
    const refused = sendBatch(client, 'two', 2, 20)
    await other.hears('ready')
    other.say({ stage: 'failed', isPassing: false, reason: 'no room' })
    t.match(codesOf(await refused), {
      code: 'CANCELLED',
      message: /another replica set makes no part .*: no room/,
    })
    t.equal(await payloadOf(client), 10)
    t.same(codesOf(await sendBatch(client, undefined, 2, 21)), [1], 'the write id is not used')
  })

  await t.test('or nothing, where another one is lost before the batch is done', async (t) => {
    const other = peer('three')
    const client = await connect()
    const given = sendBatch(client, 'three', 3, 30)
    other.say({ stage: 'ready' }, true)
    await other.hears('staged')
    other.say({ stage: 'failed', isPassing: true, reason: 'not the owner' })
    t.match(codesOf(await given), { code: 'NOT_OWNER' })
    t.equal(await payloadOf(await owner(connect)), 21)
    await t.rejects(other.commit(), /wrong last sequence/)
    t.same(codesOf(await sendBatch(await connect(), undefined, 3, 31)), [1])
  })

  await t.test('also where it hears nothing of that', async (t) => {
    const other = peer('four')
    const given = sendBatch(await connect(), 'four', 4, 40)
    other.say({ stage: 'ready' }, true)
    await other.commit()
    t.match(codesOf(await given), { code: 'NOT_OWNER' })
    t.equal(await payloadOf(await owner(connect)), 40)
    t.same(codesOf(await sendBatch(await connect(), 'four', 4, 40)), [1], 'it is known by its write id')
  })

  await t.test('or nothing, and does not wait, where another node owns its replica set', async (t) => {
    const other = peer('five')
    const given = sendBatch(await connect(), 'five', 5, 50)
    await other.hears('ready')
    await depose()
    t.match(await other.hears('failed'), { isPassing: true, reason: /owns its replica set no more/ })
    t.match(codesOf(await given), { code: 'NOT_OWNER' })
    t.equal(await payloadOf(await owner(connect)), 40)
  })

  await t.test('and says what is wrong with a request', async (t) => {
    const client = await connect()
    const ask = async (joint: unknown) => codesOf(await client.ask({ id: 1, op: 'batch', joint }))
    t.match(await ask({ id: 'x', sets: [1, 0] }), { code: 'BAD_REQUEST', message: /in ascending order/ })
    t.match(await ask({ id: 'x', sets: [1, 2] }), { message: /of replica set 0, the batch of 1, 2/ })
  })
})

/** A connection to the node once it takes requests again. */
async function owner(connect: () => Promise<RawClient>): Promise<RawClient> {
  for (;;) {
    const client = await connect()
    if ((await client.ask({ id: 1, op: 'listIndexes' })).header.ok === true) return client
    client.socket.terminate()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
