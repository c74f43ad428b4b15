import t from 'tap'
import { Store } from '../../../persistence/store.js'
import { WriteOp } from '../../../protocol/types.js'
import { PayloadReclaimer } from '../../../src/engine/payload-reclaimer.js'
import { ModelStructure } from '../../model-structure.js'
import { reads } from '../../reads.js'
import { batchOf } from '../../writes.js'
import { blobs, u32 } from './open-engine.js'

const SHAPE = { keyType: 'u32', payloadBytes: 16, unique: true, matchFrom: 2 } as const
const KEYS = 3000
const ROUNDS = 4

function textOf(key: number, round: number): string {
  return `payload ${key} of round ${round}`
}

t.test('payloads that no entry refers to any more leave the disk, all others stay', async (t) => {
  const store = await Store.open(t.testdir())
  t.teardown(() => store.close())
  const definition = { name: 'texts', keyType: 'u32', payloadKind: 'bytes', unique: true } as const
  const { id } = await store.createIndex(definition)
  const structure = new ModelStructure(SHAPE)
  const paged = {
    stats: () => structure.stats(),
    use: <T>(task: (s: ModelStructure) => T) => task(structure),
  }
  const reclaimer = new PayloadReclaimer(store, id, false)
  const keys = Array.from({ length: KEYS }, (_, i) => i)

  async function replaceAll(round: number): Promise<void> {
    const firstRow = store.payloads.nextRow(id)
    const rows = u32(...keys.flatMap((i) => [firstRow + i, 0, i, round]))
    const segment = { firstRow, ...blobs(...keys.map((key) => textOf(key, round))) }
    const batch = batchOf(SHAPE, { ops: WriteOp.replace, keys: u32(...keys), payloads: rows })
    const prepared = await structure.prepare(batch)
    await store.log.append(id, { ...batch, segment })
    prepared.apply()
  }

  for (let round = 1; round < ROUNDS; round++) await replaceAll(round)
  const before = store.payloads.stats(id)
  let turns = 0
  await reclaimer.run(async (task) => {
    // Writes come between the pages that the reclaimer reads.
    if (++turns === 2) await replaceAll(ROUNDS)
    return task(paged)
  })
  const after = store.payloads.stats(id)
  t.equal(before.heldRows, KEYS * (ROUNDS - 1))
  t.equal(after.rows, KEYS * ROUNDS, 'rows are not given again')
  t.ok(after.bytes <= before.bytes, `${after.bytes} bytes after, ${before.bytes} before`)

  await reclaimer.run((task) => task(paged))
  const oneRound = blobs(...keys.map((key) => textOf(key, ROUNDS))).bytes.byteLength
  t.ok(store.payloads.stats(id).bytes < 2 * oneRound, 'about what is live is left')

  const { payloads } = await reads(structure).get(u32(...keys))
  const rows = new Uint32Array(payloads.slice().buffer)
  const { offsets, bytes } = await store.payloads.gather(id, { rows, stride: 4 })
  for (const key of keys) {
    const text = Buffer.from(bytes.subarray(offsets[key], offsets[key + 1])).toString()
    if (text !== textOf(key, ROUNDS)) t.fail(`key ${key} has ${text}`)
  }
})
