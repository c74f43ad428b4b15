import t from 'tap'
import { columnFrom, columnOf, valueAt } from '../../../protocol/columns.js'
import { LIMITS } from '../../../protocol/limits.js'
import { WriteOp } from '../../../protocol/types.js'
import type { Index } from '../../../src/engine/index.js'
import { prefixTrees as structures } from '../../../src/engine/structures.js'
import { reads } from '../../reads.js'
import { writeTo } from '../../writes.js'
import { blobs, openEngine, texts, u32, values } from './open-engine.js'

const NUMBERS = { name: 'numbers', keyType: 'string', payloadKind: 'u32', unique: false } as const
const TEXTS = { name: 'texts', keyType: 'bytes', payloadKind: 'bytes', unique: true } as const

function column(...keys: string[]) {
  return columnOf(keys.map((key) => Buffer.from(key)))
}

function put(
  index: Index,
  keys: string[],
  payloads: { bytes: Uint8Array; offsets?: Uint32Array | undefined },
) {
  const { bytes, offsets } = column(...keys)
  return writeTo(index, { ops: WriteOp.insert, keys: bytes, keyOffsets: offsets, payloads })
}

const numbers = (...list: number[]) => ({ bytes: u32(...list), offsets: undefined })

async function scanned(index: Index): Promise<string[]> {
  const scan = { ranges: 1, from: undefined, to: undefined, tokens: undefined, limit: 100 }
  const { keys, keyOffsets } = await reads(index).scan(scan)
  return Array.from({ length: keyOffsets!.length - 1 }, (_, i) =>
    Buffer.from(valueAt(columnFrom(keys, undefined, keyOffsets), i)).toString(),
  )
}

t.test('writes that wait together are joined, logged and replayed', async (t) => {
  const directory = t.testdir()
  const engine = await openEngine(t, { directory, structures })
  await engine.createIndex(NUMBERS)
  const index = engine.index('numbers')
  const writes = [
    put(index, ['b', '', 'abc'], numbers(1, 2, 3)),
    put(index, ['a'], numbers(4)),
    put(index, [], numbers()),
    put(index, ['', 'b'], numbers(5, 6)),
  ]
  t.same(
    (await Promise.all(writes)).map((codes) => [...codes]),
    [[0, 0, 0], [0], [], [0, 0]],
  )
  await index.snapshot()
  const ops = Uint8Array.of(WriteOp.deleteKey, WriteOp.replace)
  const { bytes, offsets } = column('abc', 'a')
  await writeTo(index, { ops, keys: bytes, keyOffsets: offsets, payloads: numbers(0, 9) })
  await put(index, ['c', 'a\0'], numbers(7, 8))
  const expected = ['', '', 'a', 'a\0', 'b', 'b', 'c']
  t.same(await scanned(index), expected)
  await engine.close()

  const again = (await openEngine(t, { directory, structures })).index('numbers')
  t.same(await scanned(again), expected)
  const keys = column('', 'x', 'a', 'b')
  t.same(values(await reads(again).count(keys.bytes, keys.offsets)), [2, 0, 1, 2])
  const all = await reads(again).getAll(keys.bytes, undefined, keys.offsets)
  t.same(
    [[...all.offsets], values(all.payloads)],
    [
      [0, 2, 2, 3, 5],
      [2, 5, 9, 1, 6],
    ],
  )
  const small = Array.from({ length: 5 }, (_, i) => column('b', 'x', ['', 'a', 'b', 'c', 'x'][i]))
  const got = await Promise.all(small.map(({ bytes, offsets }) => reads(again).get(bytes, offsets)))
  t.same(
    got.map(({ found }) => found[0]),
    [5, 5, 5, 5, 1],
    'gets that share a dispatch',
  )
  t.same(
    got.map(({ payloads }) => values(payloads)[2]),
    [2, 9, 1, 7, 0],
  )
  const next = await reads(again).getNext({ keys: keys.bytes, keyOffsets: keys.offsets })
  t.same([next.found[0], ...next.keyOffsets!], [0b1101, 0, 1, 1, 3, 4])
})

t.test('payloads of kind bytes under keys of variable length', async (t) => {
  const directory = t.testdir()
  const engine = await openEngine(t, { directory, structures })
  await engine.createIndex(TEXTS)
  const index = engine.index('texts')
  await Promise.all([
    put(index, ['k', ''], blobs('one', 'two')),
    put(index, ['k', 'l'], blobs('other', 'three')),
  ])
  for (let round = 0; round < 4; round++) {
    const { bytes, offsets } = column('k', '')
    await writeTo(index, {
      ops: WriteOp.replace,
      keys: bytes,
      keyOffsets: offsets,
      payloads: blobs(`k ${round}`, `empty ${round}`),
    })
  }
  await index.snapshot()
  await engine.close()
  const again = (await openEngine(t, { directory, structures })).index('texts')
  const { bytes, offsets } = column('', 'k', 'l', 'm')
  t.same(texts(await reads(again).get(bytes, offsets)), ['empty 3', 'k 3', 'three', ''])
})

t.test('a log of more than a frame is replayed in parts', { timeout: 60_000 }, async (t) => {
  const directory = t.testdir()
  const engine = await openEngine(t, { directory, snapshotLogBytes: 2 ** 40 })
  await engine.createIndex(NUMBERS)
  const count = 2500
  const key = (batch: number, i: number) => `${batch} ${i} ${'x'.repeat(LIMITS.keyBytes - 12)}`
  for (let batch = 0; batch < 8; batch++) {
    const keys = Array.from({ length: count }, (_, i) => key(batch, i))
    await put(engine.index('numbers'), keys, numbers(...keys.map((_, i) => batch * count + i)))
  }
  await engine.close()
  let largest = 0
  const again = await openEngine(t, {
    directory,
    onProgress: ({ done }) => {
      largest = Math.max(largest, done)
    },
  })
  t.equal(largest, 8)
  t.match(again.index('numbers').stats(), { keys: 8 * count, payloads: 8 * count })
  const { bytes, offsets } = column(key(7, 5), key(0, 0))
  t.same(values((await reads(again.index('numbers')).get(bytes, offsets)).payloads), [7 * count + 5, 0])
})
