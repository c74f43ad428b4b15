import t from 'tap'
import { columnOf } from '../../../protocol/columns.js'
import { ResultCode, WriteOp } from '../../../protocol/types.js'
import {
  changedItems,
  changedPayloads,
  joinBatches,
  joinPayloads,
  numberRows,
} from '../../../src/engine/write-batch.js'

const bytes = (...values: number[]) => Uint8Array.from(values)

const keys = (...values: number[]) => ({ bytes: bytes(...values), width: 2 })
const payloads = (...values: number[]) => ({ bytes: bytes(...values), width: 1 })

t.test('batches are joined in order', async (t) => {
  const one = { ops: WriteOp.insert, keys: keys(1, 1), payloads: payloads(5) }
  t.equal(joinBatches([one]), one)
  t.same(joinBatches([one, { ...one, keys: keys(2, 2) }]), {
    ops: WriteOp.insert,
    keys: keys(1, 1, 2, 2),
    payloads: payloads(5, 5),
  })
  const deletes = { ops: WriteOp.deleteKey, keys: keys(3, 3, 4, 4) }
  const mixed = { ops: bytes(WriteOp.replace), keys: keys(6, 6), payloads: payloads(7) }
  const used = (length: number) => new Uint8Array(length).fill(9)
  for (const allocate of [undefined, used]) {
    t.same(joinBatches([one, deletes, mixed], allocate), {
      ops: bytes(WriteOp.insert, WriteOp.deleteKey, WriteOp.deleteKey, WriteOp.replace),
      keys: keys(1, 1, 3, 3, 4, 4, 6, 6),
      payloads: payloads(5, 0, 0, 7),
    })
  }
  t.equal(joinBatches([deletes, deletes]).payloads, undefined)
})

t.test('keys of variable length are joined with their offsets', async (t) => {
  const batch = (...texts: string[]) => {
    return { ops: WriteOp.deleteKey, keys: columnOf(texts.map((text) => Buffer.from(text))) }
  }
  const joined = joinBatches([batch('a', ''), batch(), batch('', 'bcd', 'e')])
  t.match(joined, { ops: WriteOp.deleteKey, payloads: undefined, keys: { bytes: Buffer.from('abcde') } })
  t.same(joined.keys.offsets, Uint32Array.of(0, 1, 1, 1, 4, 5))
})

t.test(
  'payloads of any length are joined in order, with empty ones for batches that have none',
  async (t) => {
    const own = { bytes: bytes(1, 2, 3), offsets: Uint32Array.of(0, 2, 3) }
    t.equal(joinPayloads([own], [2]), own)
    t.same(joinPayloads([own, undefined, own], [2, 2, 2]), {
      bytes: bytes(1, 2, 3, 1, 2, 3),
      offsets: Uint32Array.of(0, 2, 3, 3, 3, 5, 6),
    })
  },
)

t.test('only payloads of items that have changed something are stored', async (t) => {
  const blob = { bytes: bytes(1, 2, 3, 4), offsets: Uint32Array.of(0, 2, 3, 4) }
  const { inserted, replaced, exists, deleted, notFound } = ResultCode
  const stored = (...codes: number[]) => changedPayloads(blob, changedItems(bytes(...codes)))
  t.equal(stored(inserted, replaced, inserted), blob)
  t.equal(stored(deleted, deleted, deleted), blob, 'also those by which entries were deleted')
  t.equal(stored(exists, notFound, exists), undefined)
  t.same(stored(exists, inserted, replaced), { bytes: bytes(3, 4), offsets: Uint32Array.of(0, 0, 1, 2) })
})

t.test('rows are numbered past 32 bits', async (t) => {
  const rows = new Uint32Array(12).fill(9)
  numberRows(rows, 2 ** 32 - 1)
  t.same([...rows], [2 ** 32 - 1, 0, 9, 9, 0, 1, 9, 9, 1, 1, 9, 9])
})
