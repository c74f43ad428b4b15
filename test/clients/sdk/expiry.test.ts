import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { connect } from '../../../clients/sdk/index.js'
import { start } from '../../src/server/start.js'
import { loosely } from './loose-calls.js'

t.test('entries expire after the ttl of their index, or when their write says', async (t) => {
  const { url } = await start(t)
  const client = await connect(url)
  t.teardown(() => client.close())
  const sessions = await client.createIndex({
    ...({ name: 'sessions', keyType: 'string', payloadKind: 'json', unique: true } as const),
    ttl: 3600,
  })
  t.equal((await sessions.definition()).ttl, 3600)
  const soon = Date.now() + 300
  const written = [
    sessions.put('usual', 1),
    sessions.put('soon', 2, { expireAt: soon }),
    sessions.put('never', 3, { expireAt: 0 }),
    sessions.insert('past', 4, { expireAt: 1 }),
  ]
  await Promise.all(written)
  await sessions.putMany(['many', 'others'], [5, 6], { expireAt: [soon, 0] })
  await sessions.insertMany(['all'], [7], { expireAt: soon })
  t.notOk(await sessions.has('past'))
  if (Date.now() < soon - 100) t.equal(await sessions.count('soon'), 1)
  await setTimeout(soon - Date.now() + 1)
  const keys: string[] = []
  for await (const key of sessions.keys()) keys.push(key)
  t.same(keys, ['never', 'others', 'usual'])
  t.ok(await sessions.insert('soon', 8, { ifExists: 'error' }))
  const { nextExpiry, ...figures } = await sessions.stats()
  t.match(figures, { ttl: 3600, expired: 4, expiring: 2 })
  const inSeconds = (Number(nextExpiry) - Date.now()) / 1000
  t.ok(inSeconds > 3500 && inSeconds <= 3600, `the next entry is due in ${inSeconds} s`)
  t.match(await sessions.explain(['usual']), { expiry: { expired: 4, expiring: 2, nextExpiry } })
})

t.test(
  'items of batches and rows of loads expire when they say, and by the ttl where they do not',
  async (t) => {
    const { url } = await start(t)
    const client = await connect(url)
    t.teardown(() => client.close())
    const types = { keyType: 'u32', payloadKind: 'u32', unique: false } as const
    for (const ttl of [0, 3600]) {
      const index = await client.createIndex({ name: `after ${ttl}`, ...types, ttl })
      const soon = Date.now() + 400
      await index
        .batch()
        .put(1, 1, { expireAt: soon })
        .put(2, 2)
        .insert(3, 3, { ifExists: 'keep', expireAt: soon })
        .delete(4)
        .insert(5, 5, { expireAt: 0 })
        .write()
      await client.write([index.batch().expect(6, { exists: false }).put(6, 6, { expireAt: soon }).put(7, 7)])
      const rows = (first: number) => ({
        keys: Uint32Array.of(first, first + 1),
        payloads: Uint32Array.of(first, first + 1),
      })
      await index.bulkLoad([
        { ...rows(8), expireAt: soon },
        rows(10),
        { ...rows(12), expireAt: Float64Array.of(0, soon) },
        { ...rows(14), expireAt: [undefined, soon] },
      ])
      const keys = async () => {
        const found: number[] = []
        for await (const key of index.keys()) found.push(key)
        return found
      }
      if (Date.now() < soon - 50) t.equal((await keys()).length, 14)
      await setTimeout(soon - Date.now() + 1)
      t.same(await keys(), [2, 5, 7, 10, 11, 12, 14], `with a ttl of ${ttl}`)
    }
    const index = client.index<'u32', 'u32'>('after 3600')
    t.throws(() => index.batch().put(1, 1, { expireAt: -1 }), { code: 'BAD_REQUEST', message: /since 1970/ })
    const wrong = { keys: [1], payloads: [1], expireAt: loosely('soon') }
    await t.rejects(index.bulkLoad(wrong), { code: 'BAD_REQUEST', message: /since 1970/ })
    await t.rejects(index.bulkLoad({ keys: [1], payloads: [1], expireAt: [1, 2] }), { code: 'BAD_REQUEST' })
  },
)

t.test('what is put again to expire never stays', async (t) => {
  const { url } = await start(t)
  const client = await connect(url)
  t.teardown(() => client.close())
  const types = { keyType: 'u32', payloadKind: 'u32', unique: true } as const
  const index = await client.createIndex({ name: 'a', ...types, ttl: 3600 })
  const soon = Date.now() + 200
  await index.putMany([1, 2], [1, 2], { expireAt: [soon, soon] })
  await index.put(1, 1, { expireAt: 0 })
  await setTimeout(soon - Date.now() + 1)
  t.same([await index.get(1), await index.get(2)], [1, undefined])
})

t.test('who follows an index has entries that expire as those of the index do', async (t) => {
  const { url } = await start(t)
  const client = await connect(url)
  t.teardown(() => client.close())
  for (const payloadKind of ['u32', 'text'] as const) {
    const types = { keyType: 'string', payloadKind, unique: false, ttl: 0 } as const
    const [index, copy] = [
      await client.createIndex({ ...types, name: payloadKind }),
      // Which a feed that says nothing would have expire.
      await client.createIndex({ ...types, name: `copy of ${payloadKind}`, ttl: 1 }),
    ]
    const payload = (number: number) => (payloadKind === 'u32' ? number : String(number)) as never
    const from = await client.snapshot()
    const soon = Date.now() + 600
    const batch = index.batch().put('a', payload(1)).insert('b', payload(2), { expireAt: soon })
    await batch.insert('b', payload(3), { ifExists: 'keep' }).delete('nobody').write()
    await index.putMany(['c', 'd'], [payload(4), payload(5)], { expireAt: [soon + 3_600_000, soon] })
    await index.delete('a', { payload: payload(1) })
    await index.insert('a', payload(6))
    const times: (number | undefined)[] = []
    let batches = 0
    for await (const changes of index.watch({ from })) {
      const copied = copy.batch()
      for (const change of changes) {
        if (change.op === 'deleteRange') throw new Error('nobody deletes ranges')
        if (change.op === 'delete') copied.delete(change.key, { payload: change.payload })
        else {
          const { expireAt } = change
          times.push(expireAt)
          if (change.op === 'put') copied.put(change.key, change.payload, { expireAt })
          else copied.insert(change.key, change.payload, { expireAt })
        }
      }
      await copied.write()
      if (++batches === 4) break
    }
    t.same(times, [0, soon, soon + 3_600_000, soon, 0])
    await setTimeout(Math.max(soon, Date.now() + 1000) - Date.now() + 1)
    const contents = async (of: typeof index) => {
      const found: unknown[] = []
      for await (const entry of of.entries()) found.push([entry.key, entry.payload])
      return found
    }
    t.same(await contents(index), [
      ['a', payload(6)],
      ['c', payload(4)],
    ])
    t.same(await contents(copy), await contents(index))
  }
})

t.test('what asks for it wrongly is refused', async (t) => {
  const { url } = await start(t)
  const client = await connect(url)
  t.teardown(() => client.close())
  const types = { keyType: 'u32', payloadKind: 'u32', unique: true } as const
  const plain = await client.createIndex({ name: 'plain', ...types })
  await t.rejects(plain.put(1, 1, { expireAt: 0 }), { code: 'BAD_REQUEST', message: /do not expire/ })
  await t.rejects(plain.put(1, 1, { expireAt: -1 }), { code: 'BAD_REQUEST', message: /since 1970/ })
  await t.rejects(client.createIndex({ name: 'b', ...types, ttl: -1 }), { code: 'BAD_REQUEST' })
  await t.rejects(client.createIndex({ name: 'b', ...types, ttl: 0.5 }), { code: 'BAD_REQUEST' })
  const timed = await client.createIndex({ name: 'timed', ...types, ttl: 0 })
  await t.rejects(timed.putMany([1, 2], [1, 2], { expireAt: [1] }), { code: 'BAD_REQUEST' })
  await t.rejects(client.createIndex({ name: 'timed', ...types }, { ifNotExists: true }), {
    code: 'INDEX_EXISTS',
  })
})
