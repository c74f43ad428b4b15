import t, { type Test } from 'tap'
import { connect, LoadError, type LoadResult } from '../../../clients/sdk/index.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { start } from '../../src/server/start.js'
import { FakeServer } from './fake-server.js'

const NUMBERS = { name: 'numbers', keyType: 'u64', payloadKind: 'u32', unique: true } as const
const BLOBS = { name: 'blobs', keyType: 'string', payloadKind: 'bytes', unique: false } as const

async function open(t: Test, url: string) {
  const client = await connect(url, { reconnect: { firstDelay: 5, maxDelay: 20 } })
  t.teardown(() => client.close())
  return client
}

/** Rows that fill a part of 8 MiB by 16. */
function* largeRows(count: number) {
  for (let i = 0; i < count; i++) {
    yield { keys: [`key ${i}`], payloads: [new Uint8Array(500_000).fill(i)] }
  }
}

async function failure(load: Promise<LoadResult>): Promise<LoadError> {
  const error = await load.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof LoadError) return error
  throw new Error('the load did not fail')
}

t.test('columns, lists and streams, in all modes', async (t) => {
  const { url } = await start(t)
  const client = await open(t, url)
  await client.createIndex(NUMBERS)
  const index = client.index<'u64', 'u32'>('numbers')
  const columns = { keys: BigUint64Array.of(5n, 3n, 5n), payloads: Uint32Array.of(1, 2, 3) }
  t.match(await index.bulkLoad(columns), { rows: 3, inserted: 2, existing: 1, replaced: 0, refused: 0 })
  async function* stream() {
    yield { keys: [3n, 9n], payloads: [30, 90] }
    yield { keys: [], payloads: [] }
    yield { keys: BigUint64Array.of(9n, 5n), payloads: [91, 50] }
  }
  const result = await index.bulkLoad(stream(), { ifExists: 'replace' })
  t.match(result, { rows: 4, inserted: 1, replaced: 3 })
  t.ok(result.seconds > 0)
  t.same([...(await index.getMany([3n, 5n, 9n])).payloads], [30, 50, 91])
  t.match(await index.bulkLoad([columns], { ifExists: 'keep' }), { rows: 3, existing: 3 })
  t.match(await index.bulkLoad([]), { rows: 0 })
})

t.test('more than a part, with other requests beside it', async (t) => {
  const { url } = await start(t)
  const client = await open(t, url)
  await client.createIndex(BLOBS)
  const index = client.index<'string', 'bytes'>('blobs')
  const progress: number[] = []
  const load = index.bulkLoad(largeRows(50), { onProgress: ({ rows }) => progress.push(rows) })
  const counts: number[] = []
  for (let i = 0; i < 5; i++) counts.push(...(await index.countMany(['key 0'])))
  t.match(await load, { rows: 50, inserted: 50 })
  t.same(progress, [16, 32, 48, 50])
  t.ok(counts.every((count) => count <= 1))
  t.equal((await index.get('key 49'))?.[0], 49)
})

t.test('what goes wrong', async (t) => {
  const { url } = await start(t)
  const client = await open(t, url)
  await client.createIndex(BLOBS)
  const index = client.index<'string', 'bytes'>('blobs')
  await t.rejects(client.index('nothing').bulkLoad([]), { code: 'UNKNOWN_INDEX' })
  const uneven = await failure(index.bulkLoad({ keys: ['a', 'b'], payloads: ['1'] }))
  t.match(uneven, { code: 'BAD_REQUEST', stored: { rows: 0 }, message: /no row of the load is stored/ })
  function* source() {
    yield* largeRows(40)
    throw new Error('the source broke')
  }
  const broken = await failure(index.bulkLoad(source()))
  t.match(broken, { code: 'INTERNAL', message: /the source broke/ })
  t.equal((await index.stats()).payloads, broken.stored.rows)
  const control = new AbortController()
  async function* hanging() {
    yield* largeRows(17)
    await new Promise(() => {})
  }
  const cancelled = await failure(
    index.bulkLoad(hanging(), { signal: control.signal, onProgress: () => control.abort() }),
  )
  t.equal(cancelled.code, 'CANCELLED')
  t.equal((await index.stats()).payloads, broken.stored.rows + cancelled.stored.rows)
  const impatient = await failure(
    index.bulkLoad(largeRows(1), {
      onProgress: () => {
        throw new WarpdexError('OVERLOADED', 'enough')
      },
    }),
  )
  t.match(impatient, { code: 'OVERLOADED', stored: { rows: 1 } })
})

t.test('a lost connection does no harm, and a part that fails ends the load', async (t) => {
  const server = new FakeServer()
  await server.start()
  t.teardown(() => server.stop())
  const client = await open(t, server.url)
  await client.createIndex({ ...BLOBS, keyType: 'u32' })
  const index = client.index<'u32', 'bytes'>('blobs')
  function* rows(count: number) {
    for (const { payloads } of largeRows(count)) yield { keys: Uint32Array.of(1), payloads }
  }
  let loads = 0
  server.intervene = ({ op }) => (op === 'load' && ++loads === 2 ? 'dropAfter' : 'none')
  t.match(await index.bulkLoad(rows(50)), { rows: 50, inserted: 50 })
  t.equal(server.indexes.get('blobs')?.entries.length, 50)
  t.equal(server.connections, 2)
  loads = 0
  server.intervene = ({ op }) =>
    op === 'load' && ++loads === 2 ? new WarpdexError('OUT_OF_DEVICE_MEMORY', 'full') : 'none'
  const failed = await failure(index.bulkLoad(rows(50)))
  t.match(failed, { code: 'OUT_OF_DEVICE_MEMORY', stored: { rows: 16 } })
  t.equal(server.indexes.get('blobs')?.entries.length, 66)
})
