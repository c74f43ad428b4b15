import t from 'tap'
import { connect } from '../../../clients/sdk/index.js'
import { natsLacks } from '../../src/cluster/nats-servers.js'
import { startNodes } from '../../src/cluster/start-nodes.js'

const lack = natsLacks()
if (lack !== undefined) t.comment(lack)

t.test(
  'indexes on several replica sets get other names while they are used',
  { skip: lack ?? false },
  async (t) => {
    const nodes = await startNodes(t, 3, 3)
    const { url } = nodes[0]!
    const [client, other] = await Promise.all([connect(url), connect(url)])
    const first = await connect(url, { set: 0 })
    t.teardown(() => Promise.all([client, other, first].map((each) => each.close())))
    const keys = [5, 120, 250]
    const create = async (name: string, splitAt: number[], payload: number) => {
      const definition = { name, keyType: 'u32', payloadKind: 'u32', unique: true } as const
      const index = await client.createIndex(definition, { splitAt })
      await index.putMany(
        keys,
        keys.map(() => payload),
      )
    }
    await create('a', [100, 200], 1)
    await create('b', [100, 200], 2)
    await create('c', [150], 3)
    const payloadsOf = async (name: string) => [...(await other.index(name).getMany(keys)).payloads]

    let isOver = false
    let calls = 0
    const using = keys.map(async (key) => {
      const index = other.index<'u32', 'u32'>('a')
      while (!isOver) {
        const payload = await index.get(key)
        if (payload === undefined || payload < 1 || payload > 3) t.fail(`found ${payload}`)
        await index.put(1000 + calls++, 7)
      }
    })
    const payloads = { a: 1, b: 2, c: 3 }
    for (const name of Array.from({ length: 10 }, (_, i) => (['b', 'c', 'b', 'b', 'c'] as const)[i % 5]!)) {
      await client.swapIndexes('a', name)
      const { a } = payloads
      Object.assign(payloads, { a: payloads[name], [name]: a })
      for (const name of ['a', 'b', 'c'] as const)
        t.same(
          await payloadsOf(name),
          keys.map(() => payloads[name]),
        )
    }
    isOver = true
    await Promise.all(using)
    t.comment(`${calls} reads and writes`)
    // What was written under a name is in one of the indexes that had it.
    const counts = await Promise.all(
      ['a', 'b', 'c'].map((name) => client.index<'u32'>(name).countRanges([{ from: 1000 }])),
    )
    t.equal(
      counts.flat().reduce((sum, count) => sum + count, 0),
      calls,
    )

    await client.renameIndex('a', 'd')
    t.same(
      await payloadsOf('d'),
      keys.map(() => payloads.a),
    )
    await t.rejects(payloadsOf('a'), { code: 'UNKNOWN_INDEX' })
    await t.rejects(client.renameIndex('a', 'e'), { code: 'UNKNOWN_INDEX' })
    await t.rejects(client.swapIndexes('d', 'e'), { code: 'UNKNOWN_INDEX' })
    await t.rejects(client.renameIndex('d', 'b'), { code: 'INDEX_EXISTS' })
    await t.rejects(client.swapIndexes('d', 'd'), { code: 'BAD_REQUEST', message: /name two/ })
    t.same(
      await payloadsOf('d'),
      keys.map(() => payloads.a),
    )

    // Whoever asks meanwhile waits, and what ended halfway is ended by the same call.
    await first.renameIndex('d', 'd ~to e')
    const waiting = [payloadsOf('d'), payloadsOf('e')]
    await client.renameIndex('d', 'e')
    await t.rejects(waiting[0]!, { code: 'UNKNOWN_INDEX' })
    t.same(
      await waiting[1],
      keys.map(() => payloads.a),
    )
    t.same((await client.listIndexes()).map(({ name }) => name).sort(), ['b', 'c', 'e'])
  },
)
