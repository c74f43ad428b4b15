import t from 'tap'
import { blankColumn } from '../../../protocol/columns.js'
import { LIMITS } from '../../../protocol/limits.js'
import { WriteOp } from '../../../protocol/types.js'
import { weigh } from '../../../src/engine/index-writer.js'
import { reads } from '../../reads.js'
import { writeTo } from '../../writes.js'
import { openEngine, u32 } from './open-engine.js'

const { groupItems, groupBytes } = LIMITS

t.afterEach(() => Object.assign(LIMITS, { groupItems, groupBytes }))

t.test('writes that wait share records up to the size of a group, and a larger one goes alone', async (t) => {
  Object.assign(LIMITS, { groupItems: 10 })
  const engine = await openEngine(t)
  await engine.createIndex({ name: 'i', keyType: 'u32', payloadKind: 'u32', unique: false })
  const index = engine.index('i')
  let next = 0
  const insert = (count: number) => {
    const keys = u32(...Array.from({ length: count }, () => next++))
    return writeTo(index, { ops: WriteOp.insert, keys, payloads: keys })
  }
  // The first one is under way before others wait.
  const codes = await Promise.all([1, 3, 3, 3, 3, 30, 5, 5].map(insert))
  t.same(
    codes.map(({ length }) => length),
    [1, 3, 3, 3, 3, 30, 5, 5],
  )
  t.equal(index.stats().logRecords, 5, '1, 3 + 3 + 3, 3, 30, 5 + 5')
  const all = u32(...Array.from({ length: next }, (_, i) => i))
  t.same((await reads(index).get(all)).payloads, all)
})

t.test('a write fills its share of a group by rows or by bytes', async (t) => {
  Object.assign(LIMITS, { groupItems: 100, groupBytes: 1000 })
  const shape = { keyType: 'u64', payloadBytes: 8, unique: false, matchFrom: 0 } as const
  const write = (rows: number, payloads: number) => {
    const columns = {
      ops: WriteOp.insert,
      keys: blankColumn(rows, 8),
      payloads: blankColumn(payloads, 1),
    }
    const settle = () => {}
    return { columns, id: undefined, cancellation: undefined, resolve: settle, reject: settle }
  }
  t.equal(weigh(write(20, 160), shape), 0.48, '160 bytes of keys, 160 on the device, 160 that come along')
  t.equal(weigh(write(20, 0), shape), 0.32)
  Object.assign(LIMITS, { groupBytes: 10_000 })
  t.equal(weigh(write(20, 160), shape), 0.2)
  t.equal(weigh({ ...write(20, 0), load: {} }, shape), 320 / LIMITS.loadBytes)
})
