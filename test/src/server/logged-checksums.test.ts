import { join } from 'node:path'
import t from 'tap'
import { connect } from '../../../clients/sdk/index.js'
import { Store } from '../../../persistence/store.js'
import { Random, seedOfRun } from '../../random.js'
import { start } from './start.js'

const ROWS = 20_000
const WRITES = 12

t.test('records are sound whose checksums were made by threads that listen', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const flags = { directory: join(t.testdir(), 'data'), ioThreads: 1 }
  const server = await start(t, flags)
  const client = await connect(server.url)
  await client.createIndex({ name: 'numbers', keyType: 'u64', payloadKind: 'u64', unique: true })
  await client.createIndex({ name: 'texts', keyType: 'string', payloadKind: 'bytes', unique: false })
  const numbers = client.index<'u64', 'u64'>('numbers')
  const texts = client.index<'string', 'bytes'>('texts')
  const keys = Array.from({ length: WRITES }, () =>
    BigUint64Array.from({ length: ROWS }, () => (BigInt(random.word()) << 32n) | BigInt(random.word())),
  )
  // All at once, so that writes are logged together. Those of few rows, and deletes, have no checksums or no payloads.
  await Promise.all(
    keys.flatMap((column, i) => [
      numbers.insertMany(column, column),
      ...(i % 3 === 0 ? [numbers.insertMany(column.subarray(0, 10), column.subarray(0, 10))] : []),
      ...(i % 4 === 0 ? [numbers.deleteMany(column.subarray(0, ROWS / 2))] : []),
      texts.insertMany(
        Array.from(column, (key) => `key ${key}`),
        Array.from(column, (key) => Buffer.from(`payload ${key}`)),
      ),
    ]),
  )
  client.close()
  await server.close()

  const store = await Store.open(flags.directory)
  for (const { id, definition } of store.indexes()) {
    let items = 0
    for await (const { keys } of store.log.read(id, 0)) {
      items += keys.offsets === undefined ? keys.bytes.byteLength / 8 : keys.offsets.length - 1
    }
    const few = definition.name === 'texts' ? 0 : (WRITES / 3) * 10 + (WRITES / 4) * (ROWS / 2)
    t.equal(items, WRITES * ROWS + few, `${definition.name}: every record matches its checksum`)
  }
  await store.close()
})
