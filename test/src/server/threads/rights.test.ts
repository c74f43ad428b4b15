import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connect } from '../../../../clients/sdk/index.js'
import { mostIoThreads } from '../../../../src/config/settings.js'
import { Random, seedOfRun } from '../../../random.js'
import { RawClient } from '../raw-client.js'
import { start } from '../start.js'

const OPERATOR = 'operator-operator-operator'
const SHOP = 'shop-shop-shop-shop-shop'
const column = (...keys: number[]) => ({
  type: 'u32' as const,
  bytes: new Uint8Array(Uint32Array.from(keys).buffer),
})

t.test('no request is answered by a right that is gone when reading the tokens again is done', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const folder = t.testdir()
  const tokens = join(folder, 'tokens.json')
  const operator = { name: 'operator', token: OPERATOR, admin: true }
  const set = (...allow: string[]) => {
    const shop = { name: 'shop', token: SHOP, rights: [{ index: 'a', allow }] }
    writeFileSync(tokens, JSON.stringify({ tokens: [operator, shop] }), { mode: 0o600 })
  }
  set('read', 'write')
  const server = await start(t, {
    tokens,
    ioThreads: Math.min(3, mostIoThreads()),
    directory: join(folder, 'data'),
  })
  const admin = await connect(server.url, { token: OPERATOR })
  t.teardown(() => admin.close())
  await admin.createIndex({ name: 'a', keyType: 'u32', payloadKind: 'u32', unique: false })
  const headers = { authorization: `Bearer ${SHOP}` }
  const clients = await Promise.all(
    Array.from({ length: 9 }, () => RawClient.connect(t, server.url, { headers })),
  )
  const payloads = { type: 'bytes' as const, bytes: column(1).bytes }
  const asks = {
    read: { header: { op: 'get', index: 'a' }, sections: { keys: column(1) } },
    write: { header: { op: 'insert', index: 'a' }, sections: { keys: column(1), payloads } },
  }
  let refused = 0
  for (let round = 0; round < 60; round++) {
    const allowed = (['read', 'write'] as const).filter(() => random.chance(0.5))
    set(...(allowed.length === 0 ? ['stats'] : allowed))
    await server.reload()
    for (const client of clients) {
      for (const [id, right] of (['read', 'write'] as const).entries()) {
        client.send({ id, ...asks[right].header }, asks[right].sections)
      }
    }
    for (const client of clients) {
      for (let i = 0; i < 2; i++) {
        const { id, header } = await client.reply()
        const may = allowed.includes(id === 0 ? 'read' : 'write')
        if (!may) refused++
        if (header.ok !== may) t.fail(`round ${round}: ${JSON.stringify(header)}, and it may ${allowed}`)
      }
    }
  }
  t.ok(refused > 0, `${refused} requests were refused`)
})
