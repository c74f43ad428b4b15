import t from 'tap'
import { connect } from '../../../clients/sdk/index.js'
import { natsLacks } from '../../src/cluster/nats-servers.js'
import { startNodes } from '../../src/cluster/start-nodes.js'
import { start } from '../../src/server/start.js'

const skip = natsLacks() ?? false
const PRICES = { name: 'prices', keyType: 'u32', payloadKind: 'u32', unique: true } as const

t.test('a client of any node reads what another one has written before', { skip }, async (t) => {
  const nodes = await startNodes(t, 2)
  const writer = await connect(nodes.map(({ url }) => url))
  const written = await writer.createIndex(PRICES)
  const { owner } = (await writer.stats()).server.replica as { owner: string }
  const reader = await connect(nodes.find(({ url }) => url !== owner)!.url, { reads: 'any' })
  const index = await reader.index('prices')

  const acknowledged: { at: number; position: number }[] = []
  const answers: { asked: number; position: number; behind: number | undefined }[] = []
  for (let key = 0; key < 30; key++) {
    await written.insert(key, key * 10)
    const at = performance.now()
    const position = await writer.position()
    t.equal(position.behind, 0)
    acknowledged.push({ at, position: position.positions[0]! })
    const asked = performance.now()
    const { positions, behind } = await reader.position()
    answers.push({ asked, position: positions[0]!, behind })
    const reached = await reader.reached(JSON.parse(JSON.stringify(position)))
    t.ok(reached.positions[0]! >= position.positions[0]!)
    t.equal(await index.get(key), key * 10)
  }
  // What a node did not have was acknowledged less long ago than it says.
  for (const { asked, position, behind = Number.POSITIVE_INFINITY } of answers) {
    const missing = acknowledged.filter((write) => write.position > position && write.at < asked)
    for (const write of missing) t.ok(behind > asked - write.at, `${behind} ms`)
  }
  while ((await reader.position()).behind === undefined)
    await new Promise((resolve) => setTimeout(resolve, 20))

  const future = { positions: [acknowledged.at(-1)!.position + 1000] }
  await t.rejects(reader.reached(future, { deadline: 50 }), { code: 'DEADLINE_EXCEEDED' })
  const waiting = reader.reached(future)
  waiting.catch(() => {})
  t.equal(await index.get(1), 10, 'others go on meanwhile')
  await t.rejects(reader.reached({ positions: [1, 2] }), {
    code: 'BAD_REQUEST',
    message: /of 2 replica sets/,
  })
  await Promise.all([writer.close(), reader.close({ now: true })])
  await t.rejects(waiting, { code: 'CANCELLED' })
})

t.test('a position is of all replica sets', { skip }, async (t) => {
  const nodes = await startNodes(t, 2, 2)
  const client = await connect(nodes.map(({ url }) => url))
  const before = await client.position()
  const halves = await client.createIndex(PRICES, { splitAt: [100] })
  await halves.insertMany(Uint32Array.of(1, 200), Uint32Array.of(10, 20))
  const after = await client.position()
  t.same([before.positions.length, before.behind, after.behind], [2, 0, 0])
  t.ok(after.positions.every((position, i) => position > before.positions[i]!))
  t.same(await client.reached(after), after)
  await client.close()
})

t.test('a server of no cluster has no position', async (t) => {
  const { url } = await start(t)
  const client = await connect(url)
  await t.rejects(client.position(), { code: 'BAD_REQUEST', message: 'the server is of no cluster' })
  await client.close()
})
