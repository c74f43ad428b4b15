import t, { type Test } from 'tap'
import { Store } from '../../../persistence/store.js'
import { ResultCode, WriteOp } from '../../../protocol/types.js'
import { IndexWriter, type PendingWrite } from '../../../src/engine/index-writer.js'
import { ModelStructure } from '../../model-structure.js'
import { u32 } from './open-engine.js'

async function openWriter(t: Test) {
  const store = await Store.open(t.testdir())
  t.teardown(() => store.close())
  const definition = { name: 'i', keyType: 'u32', payloadKind: 'u32', unique: false } as const
  const shape = { keyType: 'u32', payloadBytes: 4, unique: false, matchFrom: 0 } as const
  const index = await store.createIndex(definition)
  const structure = new ModelStructure(shape)
  const writer = new IndexWriter(store, index, shape, () => {})
  const write = (...keys: number[]) =>
    new Promise<Uint8Array>((resolve, reject) => {
      const columns = {
        ops: WriteOp.insert,
        keys: u32(...keys),
        payloads: { bytes: u32(...keys), offsets: undefined },
      }
      const pending: PendingWrite = { columns, id: undefined, cancellation: undefined, resolve, reject }
      sound = writer.run(structure, [pending])
    })
  let sound = Promise.resolve(true)
  return { store, structure, write, isSound: () => sound, log: () => store.log.last(index.id) }
}

t.test('a write that cannot be logged is reported and leaves no trace', async (t) => {
  const { store, structure, write, isSound } = await openWriter(t)
  t.same([...(await write(1))], [ResultCode.inserted])
  await store.close()
  await t.rejects(write(2), { code: 'SHUTTING_DOWN' })
  t.equal(await isSound(), true)
  t.equal(structure.stats().payloads, 1)
})

t.test('a write that is logged counts, even if the device fails to apply it', async (t) => {
  const { structure, write, isSound, log } = await openWriter(t)
  const prepare = structure.prepare.bind(structure)
  structure.prepare = async (batch) => ({
    ...(await prepare(batch)),
    apply: () => {
      throw new Error('on purpose')
    },
  })
  t.same([...(await write(1))], [ResultCode.inserted])
  t.equal(await isSound(), false, 'the structure must be rebuilt')
  t.equal(log(), 1)
})
