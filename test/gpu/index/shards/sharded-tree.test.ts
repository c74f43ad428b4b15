import t, { type Test } from 'tap'
import { Device } from '../../../../gpu/device/device.js'
import { ShardedTree } from '../../../../gpu/index/shards/sharded-tree.js'
import type { IndexShape, IndexStructure } from '../../../../gpu/index-structure.js'
import { columnOf } from '../../../../protocol/columns.js'
import { WriteOp } from '../../../../protocol/types.js'
import { randomContent, runProgram } from '../../../differential.js'
import { everyOther, Random, seedOfRun } from '../../../random.js'
import { reads } from '../../../reads.js'
import { prepareBatch } from '../../../writes.js'
import { openDevice } from '../../open-device.js'
import { shardSubject } from './shard-subject.js'

const MIB = 2 ** 20
/** Of the small device, so that little is much. */
const BINDING_BYTES = MIB / 2
const SHAPE: IndexShape = { keyType: 'u32', payloadBytes: 4, unique: false, matchFrom: 0, structure: 'css' }
/** Payloads of 64 bytes, so that few keys fill a shard. */
const WIDE: IndexShape = { ...SHAPE, payloadBytes: 64 }
const BATCH = 2 ** 12

const above = (key: number) => key + 1

const seed = seedOfRun()

function bytes(values: ArrayLike<number>): Uint8Array {
  return new Uint8Array(Uint32Array.from(values).buffer)
}

function numbers(column: Uint8Array): Uint32Array {
  return new Uint32Array(column.slice().buffer)
}

/** Numbers as payloads of an index: the first word of each is one above its key. */
function payloadsOf({ payloadBytes }: IndexShape, keys: Uint32Array): Uint8Array {
  const words = new Uint32Array((keys.length * payloadBytes) / 4)
  keys.forEach((key, i) => {
    words[(i * payloadBytes) / 4] = key + 1
  })
  return bytes(words)
}

/** The first word of each payload. */
function firstWords({ payloadBytes }: IndexShape, payloads: Uint8Array): Uint32Array {
  return numbers(payloads).filter((_, i) => i % (payloadBytes / 4) === 0)
}

async function insert(tree: IndexStructure, keys: Uint32Array): Promise<void> {
  for (let at = 0; at < keys.length; at += BATCH) {
    const batch = keys.subarray(at, at + BATCH)
    const columns = { keys: bytes(batch), payloads: payloadsOf(tree.shape, batch) }
    ;(await prepareBatch(tree, { ops: WriteOp.insert, ...columns })).apply()
    await tree.compactIfWorthwhile()
  }
}

/** Keys 7, 14, 21 and so on: blocks of neighbours, in any order. */
function multiplesOfSeven(count: number, block: number, random: Random): Uint32Array {
  const blocks = Array.from({ length: Math.ceil(count / block) }, (_, i) => i)
  for (let i = blocks.length - 1; i > 0; i--) {
    const other = random.below(i + 1)
    ;[blocks[i], blocks[other]] = [blocks[other], blocks[i]]
  }
  const places = blocks.flatMap((number) => Array.from({ length: block }, (_, i) => number * block + i))
  return Uint32Array.from(places.filter((place) => place < count).map((place) => 7 * (place + 1)))
}

/** Compares every kind of read with what must be there: multiples of seven that `isThere` says are. */
async function checkReads(
  t: Test,
  tree: IndexStructure,
  count: number,
  isThere: (key: number) => boolean,
): Promise<void> {
  const random = new Random(seed)
  const asked = Uint32Array.from({ length: 5000 }, () => random.below(7 * (count + 10)))
  const has = (key: number) => key > 0 && key % 7 === 0 && key <= 7 * count && isThere(key)
  const { payloads } = await reads(tree).get(bytes(asked))
  const payloadOf = (key: number) => (has(key) ? above(key) : 0)
  t.same(firstWords(tree.shape, payloads), asked.map(payloadOf), 'get')
  const counts = numbers(await reads(tree).count(bytes(asked)))
  t.same(
    counts,
    asked.map((key) => Number(has(key))),
    'count',
  )
  const all = await reads(tree).getAll(bytes(asked), 5000)
  t.same(firstWords(tree.shape, all.payloads), asked.filter(has).map(above), 'getAll')

  const present = Uint32Array.from({ length: count }, (_, i) => 7 * (i + 1)).filter(isThere)
  const few = asked.subarray(0, 200)
  for (const reverse of [false, true]) {
    const next = await reads(tree).getNext({ keys: bytes(few), reverse })
    const expected = few.map((key) => {
      const at = present.findIndex((one) => one >= key)
      if (reverse) return at === 0 ? 0 : (present.at(at - 1) ?? 0)
      return (present[at] === key ? present[at + 1] : present[at]) ?? 0
    })
    t.same(numbers(next.keys), expected, `getNext${reverse ? ' reverse' : ''}`)
    await checkScan(t, tree, present, few.subarray(0, 20), reverse)
  }
}

/** Compares reads once some keys are there a second time. */
async function checkTwice(t: Test, tree: IndexStructure, keys: Uint32Array): Promise<void> {
  await insert(tree, keys)
  const asked = keys.filter((_, i) => i % 50 === 0)
  t.same(
    numbers(await reads(tree).count(bytes(asked))),
    asked.map(() => 2),
  )
  const { payloads } = await reads(tree).getAll(bytes(asked), 2 * asked.length)
  t.same(firstWords(tree.shape, payloads), Uint32Array.from([...asked].flatMap((key) => [key + 1, key + 1])))
  const scanned = await reads(tree).scan({ ranges: asked.length, from: bytes(asked), limit: 3 })
  const first = [...asked].flatMap((key) => [key, key, key + 7])
  t.same(numbers(scanned.keys), Uint32Array.from(first), 'both are there, and then the next key')
}

/** Ranges that go through several shards, page by page. */
async function checkScan(
  t: Test,
  tree: IndexStructure,
  present: Uint32Array,
  begins: Uint32Array,
  reverse: boolean,
): Promise<void> {
  const limit = 1500
  const length = 18 * limit
  const [low, high] = [begins, begins.map((begin) => Math.min(begin + length, 0xffffffff))]
  const ends = { ranges: begins.length, from: bytes(low), to: bytes(high), toExclusive: true, reverse }
  const expected = Array.from(low, (begin, i) => {
    const inside = present.filter((key) => key >= begin && key < high[i])
    return reverse ? inside.reverse() : inside
  })
  const seen = expected.map((): number[] => [])
  let tokens: Uint8Array | undefined
  for (let page = 0; page < 3; page++) {
    const {
      offsets,
      keys,
      payloads,
      more,
      tokens: positions,
    } = await reads(tree).scan({ ...ends, tokens, limit })
    const found = numbers(keys)
    t.same(firstWords(tree.shape, payloads), found.map(above), 'payloads stand beside their keys')
    for (let i = 0; i < begins.length; i++) {
      seen[i].push(...found.subarray(offsets[i], offsets[i + 1]))
      t.equal(more[i] === 1, seen[i].length < expected[i].length, 'it is said whether there is more')
    }
    tokens = positions
    // An end that was not reached goes on; others are past the end.
    more.forEach((flag, i) => {
      if (flag === 0) positions.fill(255, 8 * i, 8 * i + 8)
    })
  }
  t.same(
    seen,
    expected.map((keys) => Array.from(keys.subarray(0, 3 * limit))),
    `scan${reverse ? ' reverse' : ''}`,
  )
}

t.comment(`TEST_SEED=${seed}`)

/** Shared by tests that turn down the size of a shard, so that its kernels are made once. */
const device = await openDevice(t)
const smallDevice = await Device.open('auto', BINDING_BYTES)
t.teardown(() => smallDevice.destroy())

t.test('an index larger than a binding is dozens of shards, and answers as one', async (t) => {
  const count = 95_000
  const tree = await ShardedTree.create(smallDevice, WIDE)
  await insert(tree, multiplesOfSeven(count, BATCH / 2, new Random(seed)))
  t.equal(tree.stats().keys, count)
  t.ok(tree.stats().shards > (76 * count) / BINDING_BYTES, `${tree.stats().shards} shards`)
  await checkReads(t, tree, count, () => true)

  const gone = Uint32Array.from({ length: count / 20 }, (_, i) => 140 * (i + 1))
  ;(await prepareBatch(tree, { ops: WriteOp.deleteKey, keys: bytes(gone) })).apply()
  device.regionBytes = BINDING_BYTES
  const restored = await ShardedTree.restore(device, WIDE, await tree.image())
  t.equal(restored.stats().shards, tree.stats().shards)
  tree.destroy()
  await checkReads(t, restored, count, (key) => key % 140 !== 0)
  await insert(restored, gone)
  await checkTwice(t, restored, gone)
  restored.destroy()
})

t.test('ascending keys leave no shard nearly empty', async (t) => {
  const tree = await ShardedTree.create(smallDevice, { ...WIDE, structure: 'prefix' })
  const count = 40_000
  await insert(
    tree,
    Uint32Array.from({ length: count }, (_, i) => i),
  )
  const { keys, shards } = tree.stats()
  t.equal(keys, count)
  // A tuple has 76 bytes, and a shard is cut in two halves when it is nearly full.
  t.ok(shards <= (2 * 76 * count) / (BINDING_BYTES * 0.8) + 1, `${shards} shards`)
  const asked = Uint32Array.from({ length: 1000 }, (_, i) => i * 41)
  t.same(
    firstWords(WIDE, (await reads(tree).get(bytes(asked))).payloads),
    asked.map((key) => (key < count ? key + 1 : 0)),
  )
  tree.destroy()
})

t.test('random programs on small shards against an ordered map', async (t) => {
  device.regionBytes = 32 * 1024
  let keys = 0
  // By another bit of the seed than the structure.
  for (const [i, keyType] of everyOther([...(['f64', 'string'] as const).entries()], seed >>> 1)) {
    const random = new Random(seed + i)
    const structure = (seed + i) % 2 === 0 ? 'css' : 'prefix'
    // Payloads of one key must fit into a shard, so there is one a key.
    const content = { ...randomContent(random, keyType), payloadBytes: 7, unique: true, matchFrom: 0 }
    const shape = { ...content, structure } as const
    t.comment(`seed ${seed + i}: ${JSON.stringify(shape)}`)
    const options = { steps: 10, most: 1000, longestPart: 40, inserts: 0.7 }
    keys += await runProgram(shardSubject(device), random, shape, options)
  }
  t.comment(`${keys} keys`)
  t.pass('every answer equals the model')
})

t.test('a batch that is larger than a shard is shared out', async (t) => {
  device.regionBytes = 32 * 1024
  const strings = Array.from({ length: 8000 }, (_, i) => `key ${(i * 7919) % 8000}`)
  const { bytes: keys, offsets: keyOffsets } = columnOf(strings.map((text) => Buffer.from(text)))
  const payloads = bytes(strings.map((_, i) => i))
  const tree = await ShardedTree.create(device, { ...SHAPE, keyType: 'string' })
  ;(await prepareBatch(tree, { ops: WriteOp.insert, keys, keyOffsets, payloads })).apply()
  t.equal(tree.stats().keys, strings.length)
  t.ok(tree.stats().shards > 4, `${tree.stats().shards} shards`)
  t.ok(Buffer.from((await reads(tree).get(keys, keyOffsets)).payloads).equals(payloads), 'all are found')
  tree.destroy()
})

t.test('the memory of a batch is used again, and shards part where they did', async (t) => {
  device.regionBytes = 32 * 1024
  const count = 4000
  const texts = Array.from({ length: 2 * count }, (_, i) => String((i * 7919) % (2 * count)).padStart(8, '0'))
  const payloads = bytes(texts.slice(0, count).map((_, i) => i + 1))
  const keyOffsets = Uint32Array.from({ length: count + 1 }, (_, i) => 8 * i)
  for (const keyType of ['f64', 'string'] as const) {
    const columns = [texts.slice(0, count), texts.slice(count)].map((half) =>
      keyType === 'string' ? Buffer.from(half.join('')) : Buffer.from(Float64Array.from(half, Number).buffer),
    )
    const offsets = keyType === 'string' ? keyOffsets : undefined
    const tree = await ShardedTree.create(device, { ...SHAPE, keyType })
    // Columns may be Buffers, whose `slice` is a view.
    const memory = Buffer.alloc(8 * count)
    for (const column of columns) {
      const shards = tree.stats().shards
      memory.set(column)
      ;(
        await prepareBatch(tree, { ops: WriteOp.insert, keys: memory, keyOffsets: offsets, payloads })
      ).apply()
      memory.fill(0)
      t.ok(tree.stats().shards > shards, `${tree.stats().shards} shards of ${keyType}`)
    }
    for (const column of columns) {
      const found = await reads(tree).get(column, offsets)
      t.ok(Buffer.from(found.payloads).equals(payloads), 'all are found')
    }
    tree.destroy()
  }
})

t.test('payloads of one key that no shard has room for are refused, and nothing is lost', async (t) => {
  device.regionBytes = 16 * 1024
  const tree = await ShardedTree.create(device, SHAPE)
  await insert(tree, Uint32Array.of(1, 2, 3))
  const same = new Uint32Array(4000).fill(2)
  const batch = { ops: WriteOp.insert, keys: bytes(same), payloads: bytes(same) }
  await t.rejects(prepareBatch(tree, batch), { code: 'OUT_OF_DEVICE_MEMORY', message: /16384/ })
  t.same(numbers((await reads(tree).get(bytes([1, 2, 3]))).payloads), Uint32Array.of(2, 3, 4))
  t.same(numbers(await reads(tree).count(bytes([1, 2, 3]))), Uint32Array.of(1, 1, 1))
  tree.destroy()
})

t.test('all shards together stay within what an index may own', async (t) => {
  device.regionBytes = 64 * 1024
  device.structureBytes = MIB
  t.teardown(() => {
    device.structureBytes = Number.POSITIVE_INFINITY
  })
  const tree = await ShardedTree.create(device, SHAPE)
  const keys = multiplesOfSeven(100_000, 1, new Random(seed))
  let stored = 0
  const filling = async () => {
    for (; stored < keys.length; stored += 4096) await insert(tree, keys.subarray(stored, stored + 4096))
  }
  await t.rejects(filling(), { code: 'OUT_OF_DEVICE_MEMORY' })
  t.ok(tree.stats().deviceBytes <= MIB, `${tree.stats().deviceBytes} bytes`)
  t.equal(tree.stats().keys, stored)
  const asked = keys.subarray(0, stored)
  t.same(numbers((await reads(tree).get(bytes(asked))).payloads), asked.map(above))
  tree.destroy()
})
