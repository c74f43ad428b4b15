import t from 'tap'
import { connect } from '../../../clients/sdk/index.js'
import { natsLacks } from './nats-servers.js'
import { startNodes } from './start-nodes.js'

const lack = natsLacks()
if (lack !== undefined) t.comment(lack)
const test = lack === undefined ? t.test : () => {}

test('clients of a replica set find its owner, also when it is another one', async (t) => {
  const nodes = await startNodes(t, 3)
  const urls = nodes.map(({ url }) => url)
  const client = await connect(urls)
  t.teardown(() => client.close())
  const prices = await client.createIndex({
    name: 'prices',
    keyType: 'u32',
    payloadKind: 'u32',
    unique: true,
  })
  await prices.insertMany(Uint32Array.of(1, 2), Uint32Array.of(10, 20))
  const ownerOf = async () =>
    (await client.stats()).server.replica as { owner: string; role: string; position: number }
  const { owner: first } = await ownerOf()
  t.ok(urls.includes(first))

  // Another one takes it over while clients write.
  const owner = urls.find((url) => url !== first)!
  const written = Promise.all(Array.from({ length: 20 }, (_, i) => prices.insert(200 + i, i)))
  const admin = await connect(urls)
  t.teardown(() => admin.close())
  t.equal(await admin.handOver(owner), owner)
  await written
  t.same([await prices.get(219), (await ownerOf()).owner], [19, owner])
  await t.rejects(admin.handOver('ws://elsewhere'), {
    code: 'BAD_REQUEST',
    message: /elsewhere cannot take replica set 0: at the moment its other nodes are ws:\S+ and ws:/,
  })

  // From then on whoever stays has what was written, and takes writes.
  const others = nodes.filter(({ url }) => url !== owner)
  const writing = Promise.all(Array.from({ length: 20 }, (_, i) => prices.insert(100 + i, i)))
  await nodes.find(({ url }) => url === owner)!.close()
  await writing
  t.same(await Promise.all([1, 2, 100, 119, 3].map((key) => prices.get(key))), [10, 20, 0, 19, undefined])
  t.not((await ownerOf()).owner, owner)

  // What the owner has found to be gone is gone wherever it is looked for behind that.
  const types = { keyType: 'string', payloadKind: 'u32', unique: true, ttl: 60 } as const
  const seen = await client.createIndex({ name: 'seen', ...types })
  await seen.putMany(['soon', 'later'], [1, 2], { expireAt: [Date.now() + 100, undefined] })
  while (await seen.has('soon')) await new Promise((resolve) => setTimeout(resolve, 10))
  t.equal(await seen.count('later'), 1)
  const gone = await client.position()

  const metrics = await fetch(`${others[0]!.url.replace('ws:', 'http:')}/metrics`).then((response) =>
    response.text(),
  )
  t.match(metrics, /^warpdex_replica_position [1-9]/m)

  // Any node answers whoever asks for what it has.
  for (const { url } of others) {
    const reader = await connect(url, { reads: 'any' })
    const index = await reader.index('prices')
    await reader.reached(gone)
    t.same([await index.get(1), await index.get(3)], [10, undefined])
    t.equal(await (await reader.index('seen')).has('soon'), false, 'what was seen to expire')
    await reader.close()
  }
})
