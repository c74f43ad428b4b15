import t from 'tap'
import { type Change, type ChangeBatch, type Client, connect } from '../../../clients/sdk/index.js'
import { Random, seedOfRun } from '../../random.js'
import { natsLacks } from '../../src/cluster/nats-servers.js'
import { startNodes } from '../../src/cluster/start-nodes.js'

const lack = natsLacks()
if (lack !== undefined) t.comment(lack)
const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)

type Batch = ChangeBatch<'u32', 'u32'>

function make(model: Map<number, number>, change: Change<'u32', 'u32'>): void {
  if (change.op === 'delete') model.delete(change.key)
  else if (change.op === 'deleteRange') {
    const { from = 0, to = Number.POSITIVE_INFINITY } = change
    for (const key of model.keys()) if (key >= from && key <= to) model.delete(key)
  } else model.set(change.key, change.payload)
}

t.test('changes of an index on several replica sets', { skip: lack ?? false }, async (t) => {
  const nodes = await startNodes(t, 3, 3)
  const client: Client = await connect(nodes[0]!.url)
  t.teardown(() => client.close())
  const definition = { name: 'a', keyType: 'u32', payloadKind: 'u32', unique: true } as const
  const index = await client.createIndex(definition, { splitAt: [100, 200] })
  await index.putMany([1, 150, 250], [1, 2, 3])
  const snapshot = await client.snapshot()
  const model = new Map([
    [1, 1],
    [150, 2],
    [250, 3],
  ])

  await t.test('are all told, each once, over feeds that go on from each other', async (t) => {
    const random = new Random(seed)
    const told = new Map(model)
    const writing = (async () => {
      for (let round = 0; round < 25; round++) {
        const keys = Array.from({ length: 1 + random.below(8) }, () => random.below(300))
        const payloads = keys.map(() => random.below(1000))
        await index.putMany(keys, payloads)
        keys.forEach((key, i) => {
          model.set(key, payloads[i]!)
        })
        const gone = random.below(300)
        const change =
          round % 4 === 3
            ? ({ op: 'deleteRange', from: gone, to: gone + 60 } as const)
            : ({ op: 'delete', key: gone } as const)
        await (change.op === 'delete' ? index.delete(gone) : index.deleteRange({ from: gone, to: gone + 60 }))
        make(model, change)
      }
      await index.putMany([299, 0, 150], [7, 7, 7])
      for (const key of [299, 0, 150]) model.set(key, 7)
    })()
    let from: Batch['position'] | typeof snapshot = snapshot
    const last = new Set([0, 150, 299])
    while (last.size > 0) {
      let left = 1 + random.below(20)
      for await (const batch of index.watch({ from })) {
        t.match(batch.position, /^\d:\d+\.\d+\.\d+,\d:\d+\.\d+\.\d+,\d:\d+\.\d+\.\d+$/)
        for (const change of batch) {
          make(told, change)
          if (change.op === 'put' && change.payload === 7) last.delete(change.key)
        }
        from = batch.position
        if (--left === 0 || last.size === 0) break
      }
    }
    await writing
    const sorted = (map: Map<number, number>) => [...map].sort(([one], [other]) => one - other)
    t.same(sorted(told), sorted(model))
  })

  await t.test('are told from now on, until someone ends it', async (t) => {
    const stop = new AbortController()
    const feed = index.watch({ signal: stop.signal })
    const first = feed.next()
    // The feed begins where the index is when it is asked for.
    let written = 0
    const writing = setInterval(() => void index.put(written % 300, ++written).catch(() => {}), 20)
    const { value } = await first
    clearInterval(writing)
    t.equal((value as Batch).length, 1)
    const rest = (async () => {
      for await (const _ of feed);
    })()
    stop.abort()
    await t.rejects(rest, { code: 'CANCELLED' })
  })

  await t.test('of one replica set have a position of the same form', async (t) => {
    const whole = await client.createIndex({ ...definition, name: 'whole' })
    await whole.put(1, 1)
    const { value } = await whole.watch({ from: snapshot }).next()
    const { position } = value as Batch
    t.match(position, /^\d:\d+\.\d+\.\d+$/)
    await whole.put(1, 2)
    const next = await whole.watch({ from: position }).next()
    t.same([...(next.value as Batch)], [{ op: 'put', key: 1, payload: 2 }])
  })

  await t.test('end with an error where the index is another one', async (t) => {
    const feed = index.watch({ from: snapshot })
    const { value } = await feed.next()
    const ended = (async () => {
      for await (const _ of feed);
    })()
    const again = { code: 'INDEX_CHANGED', message: /read it at a snapshot, and watch it from that/ }
    const [splits] = await Promise.all([client.splitIndex('a', [150]), t.rejects(ended, again)])
    t.ok(splits > 0)
    const { position } = value as Batch
    await t.rejects(index.watch({ from: position }).next(), again)
    const bad = { code: 'BAD_REQUEST', message: /is not a position/ }
    await t.rejects(index.watch({ from: '1.1.42' }).next(), bad)
    await t.rejects(index.watch({ from: '0:1.1,1:1.1.2' }).next(), bad)
    await client.dropIndex('a')
    await t.rejects(index.watch().next(), { code: 'UNKNOWN_INDEX' })
  })
})
