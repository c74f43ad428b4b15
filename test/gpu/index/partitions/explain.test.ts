import t from 'tap'
import type { Device } from '../../../../gpu/device/device.js'
import { PrefixTree } from '../../../../gpu/index/prefix-tree.js'
import { columnOf } from '../../../../protocol/columns.js'
import { STRATEGIES, type Strategy, TRAVERSALS } from '../../../../protocol/traversal.js'
import { WriteOp } from '../../../../protocol/types.js'
import { reads } from '../../../reads.js'
import { prepareBatch } from '../../../writes.js'
import { openDevice } from '../../open-device.js'

/** The digits of 12-bit keys, 3 bits each, as digits of 4 bits: slots 8 to 15 of every node stay empty. */
function octalKey(key: number): Uint8Array {
  const [a, b, c, d] = [9, 6, 3, 0].map((shift) => (key >> shift) & 7)
  return Uint8Array.of((a << 4) | b, (c << 4) | d)
}

/**
 * The tree of Volk, Figure 3: keys of 12 bits, 3 bits a level, 4 levels, 2 of them in a partition. The figure shows four partitions;
 * these keys make them. As encoded tuples they are what the tree sees, digit for digit.
 */
const SHAPE = {
  keyType: 'tuple(u32,u32)',
  payloadBytes: 4,
  unique: true,
  matchFrom: 0,
  layout: 'full',
  partitionLevels: 2,
} as const
const KEYS = [0o1261, 0o3300, 3569]

let device: Device
let tree: PrefixTree
t.before(async () => {
  device = await openDevice(t)
  tree = await PrefixTree.create(device, SHAPE)
  const { bytes: keys, offsets: keyOffsets } = columnOf(KEYS.map(octalKey))
  const payloads = new Uint8Array(Uint32Array.from(KEYS).buffer)
  const prepared = await prepareBatch(tree, { ops: WriteOp.insert, keys, keyOffsets, payloads })
  prepared.apply()
})

t.test("the paper's example: Tables 1 and 2 for key 3569", async (t) => {
  const { bytes, offsets } = columnOf([octalKey(3569)])
  const { tables, partitions } = await reads(tree).explain(bytes, offsets)
  t.same(partitions, { count: 4, levels: 2 })
  t.same(tables, {
    rows: [
      { partition: 1, level: 0, result: 4, predecessor: null },
      { partition: 2, level: 2, result: 'payload', predecessor: null },
      { partition: 3, level: 2, result: null, predecessor: null },
      { partition: 4, level: 2, result: 'payload', predecessor: 1 },
    ],
    omitted: 0,
    answer: 4,
  })
  for (const traversal of TRAVERSALS) {
    const { found, payloads } = await reads(tree).get(bytes, offsets, traversal)
    const [payload] = new Uint32Array(payloads.slice().buffer)
    t.same([found[0], payload], [1, 3569], JSON.stringify(traversal))
  }
})

t.test('the tables are those of the strategy', async (t) => {
  const { bytes, offsets } = columnOf([octalKey(3569)])
  const tablesBy = async (strategy: Strategy) =>
    (await reads(tree).explain(bytes, offsets, { strategy })).tables
  t.same(await tablesBy('speculative'), await tablesBy('sequential'))
  const [root, third, fourth] = [1, 3, 4].map((partition) => ({ partition, level: 2, predecessor: null }))
  t.same(
    await tablesBy('hierarchical'),
    {
      rows: [
        { ...root, level: 0, result: 'payload' },
        { ...root, partition: 2, result: null },
        { ...third, result: null },
        { ...fourth, result: null },
      ],
      omitted: 0,
      answer: 4,
    },
    'one block resolves all in workgroup memory',
  )
  t.same(
    await tablesBy('directed'),
    {
      rows: [
        { ...root, level: 0, result: 4 },
        { ...fourth, result: 'payload', predecessor: 1 },
      ],
      omitted: 0,
      answer: 4,
    },
    'the directory names one partition a band',
  )
})

t.test('tables of coalesced trees, over numbers as over strings', async (t) => {
  const keys = new Uint8Array(Uint32Array.from([0x11112222, 0x11113333, 0x44442222]).buffer)
  const shape = { ...SHAPE, keyType: 'u32', allocation: 'coalesced', partitionLevels: 4 } as const
  const numbers = await PrefixTree.create(device, shape)
  t.teardown(() => numbers.destroy())
  const prepared = await prepareBatch(numbers, { ops: WriteOp.insert, keys, payloads: keys })
  prepared.apply()
  const digits = [0x11112222, 0x11113333, 0x44442222].map((key) => Buffer.from(key.toString(16), 'hex'))
  const { bytes, offsets } = columnOf(digits)
  const texts = await PrefixTree.create(device, { ...shape, keyType: 'tuple(u32,u32)' })
  t.teardown(() => texts.destroy())
  const same = await prepareBatch(texts, {
    ops: WriteOp.insert,
    keys: bytes,
    keyOffsets: offsets,
    payloads: keys,
  })
  same.apply()
  const one = columnOf(digits.slice(0, 1))
  for (const strategy of STRATEGIES) {
    const { tables, partitions } = await reads(numbers).explain(keys.subarray(0, 4), undefined, { strategy })
    t.same(partitions, { count: 32, levels: 4 }, 'each level has a multiple of 16')
    const expected = await reads(texts).explain(one.bytes, one.offsets, { strategy })
    t.same(tables, expected.tables, strategy)
    t.equal(tables?.answer, 17)
    const says = tables?.rows.filter(({ result, predecessor }) => result !== null || predecessor !== null)
    const isResolved = strategy === 'hierarchical'
    t.same(says, [
      { partition: 1, level: 0, result: isResolved ? 'payload' : 17, predecessor: null },
      ...(isResolved ? [] : [{ partition: 17, level: 4, result: 'payload', predecessor: 1 }]),
      ...(strategy === 'speculative' || strategy === 'sequential'
        ? [{ partition: 18, level: 4, result: 'payload', predecessor: null }]
        : []),
    ])
  }
})

t.test('a key that is not there has results and no answer', async (t) => {
  const { bytes, offsets } = columnOf([octalKey(0o6762)])
  for (const [strategy, results] of [
    ['speculative', [4, null, null, null]],
    ['directed', [4, null]],
  ] as const) {
    const { tables } = await reads(tree).explain(bytes, offsets, { strategy, resolution: 'reversed' })
    t.same(
      tables?.rows.map(({ result }) => result),
      results,
    )
    t.equal(tables?.answer, null)
  }
})

t.test('says what is taken and why', async (t) => {
  const { bytes, offsets } = columnOf([octalKey(3569)])
  const named = await reads(tree).explain(bytes, offsets, { strategy: 'speculative', resolution: 'serial' })
  t.match(named, { strategy: 'speculative', resolution: 'serial', reason: 'the request names it', batch: 1 })
  t.match((await reads(tree).explain(bytes, offsets)).reason, /has not been measured/)

  const plain = await PrefixTree.create(device, { ...SHAPE, layout: 'compact', partitionLevels: undefined })
  t.teardown(() => plain.destroy())
  t.match(await reads(plain).explain(bytes, offsets), {
    strategy: 'sequential',
    reason: 'the index is empty',
  })
  await t.rejects(reads(plain).explain(bytes, offsets, { strategy: 'directed' }), { code: 'BAD_REQUEST' })
  await t.rejects(reads(plain).get(bytes, offsets, { strategy: 'directed' }), { code: 'BAD_REQUEST' })
})
