import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connect } from '../../../clients/sdk/index.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { Random, seedOfRun } from '../../random.js'
import { start } from './start.js'

t.test('what the thread for snapshots writes is what the next server begins with', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const flags = { directory: t.testdir(), ioThreads: 1 }
  const first = await start(t, flags, { structures: prefixTrees })
  const client = await connect(first.url)
  await client.createIndex({ name: 'rows', keyType: 'u32', payloadKind: 'u32', unique: true })
  const model = new Map<number, number>()
  // More than is read back at a time.
  for (let i = 0; i < 700_000; i++) model.set(random.word(), i)
  const keys = Uint32Array.from(model.keys())
  const payloads = Uint32Array.from(model.values())
  await client.index<'u32', 'u32'>('rows').insertMany(keys, payloads)
  const [taken] = await first.engine.snapshot('rows')
  t.ok(taken!.bytes > 2 ** 22)
  client.close()
  await first.close()
  t.equal(readdirSync(join(flags.directory, 'snapshots')).length, 1)

  const second = await start(t, flags, { structures: prefixTrees })
  const again = await connect(second.url)
  const found = await again.index<'u32', 'u32'>('rows').getMany(keys)
  t.ok(keys.every((_, i) => found.payload(i) === payloads[i]))
  again.close()
})
