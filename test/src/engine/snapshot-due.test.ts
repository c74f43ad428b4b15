import t from 'tap'
import { Store } from '../../../persistence/store.js'
import { WriteOp } from '../../../protocol/types.js'
import { SnapshotUpkeep } from '../../../src/engine/snapshot-upkeep.js'
import { ModelStructure } from '../../model-structure.js'
import { batchOf, prepareBatch } from '../../writes.js'
import { u32 } from './open-engine.js'

t.test('a snapshot that failed is not tried again with every write', async (t) => {
  const store = await Store.open(t.testdir())
  t.teardown(() => store.close())
  const definition = { name: 'i', keyType: 'u32', payloadKind: 'u32', unique: false } as const
  const { id } = await store.createIndex(definition)
  const structure = new ModelStructure({ keyType: 'u32', payloadBytes: 4, unique: false, matchFrom: 0 })
  const snapshots = snapshotsOf(store, id, structure, 1000)
  await store.log.append(
    id,
    batchOf(structure.shape, { ops: WriteOp.insert, keys: u32(1), payloads: u32(1) }),
  )

  snapshots.logged(1000)
  t.equal(snapshots.due, true)
  const snapshot = structure.snapshot.bind(structure)
  structure.snapshot = async () => ({
    ...(await snapshot()),
    parts: [{ name: 'keys', bytes: 4, chunks: failing() }],
  })
  await t.rejects(snapshots.takeSnapshot(), { message: /on purpose/ })
  t.equal(snapshots.due, false)
  snapshots.logged(999)
  t.equal(snapshots.due, false)
  snapshots.logged(1)
  t.equal(snapshots.due, true)

  structure.snapshot = snapshot
  t.match(await snapshots.takeSnapshot(), { position: 1 })
  t.equal(snapshots.due, false)
  snapshots.logged(1000)
  t.equal(snapshots.due, true)
})

t.test('a large index is not written again for a little log', async (t) => {
  const store = await Store.open(t.testdir())
  t.teardown(() => store.close())
  const definition = { name: 'i', keyType: 'u32', payloadKind: 'u32', unique: false } as const
  const { id } = await store.createIndex(definition)
  const structure = new ModelStructure({ keyType: 'u32', payloadBytes: 4, unique: false, matchFrom: 0 })
  const snapshots = snapshotsOf(store, id, structure, 100)
  const numbers = u32(...Array.from({ length: 1000 }, (_, i) => i))
  await store.log.append(
    id,
    batchOf(structure.shape, { ops: WriteOp.insert, keys: numbers, payloads: numbers }),
  )
  const prepared = await prepareBatch(structure, { ops: WriteOp.insert, keys: numbers, payloads: numbers })
  prepared.apply()
  const { bytes } = await snapshots.takeSnapshot()
  t.ok(bytes > 8000)
  snapshots.logged(Math.ceil(bytes / 2) - 1)
  t.equal(snapshots.due, false)
  snapshots.logged(1)
  t.equal(snapshots.due, true)
})

function snapshotsOf(store: Store, id: number, structure: ModelStructure, snapshotLogBytes: number) {
  const inTurn = <T>(task: (structure: ModelStructure) => Promise<T>) => task(structure)
  const nothing = () => {}
  const options = {
    store,
    id,
    snapshotLogBytes,
    inTurn,
    isGoing: () => false,
    warn: nothing,
    happened: nothing,
  }
  return new SnapshotUpkeep(options)
}

async function* failing(): AsyncGenerator<Uint8Array> {
  yield u32(1).subarray(0, 2)
  throw new Error('on purpose')
}
