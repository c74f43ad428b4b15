import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { connect } from '../../../clients/sdk/index.js'
import { start } from '../../src/server/start.js'

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
  t.match(await sessions.stats(), { ttl: 3600, expired: 4 })
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
