import t, { type Test } from 'tap'
import type { Device } from '../../../../gpu/device/device.js'
import { DeviceFull } from '../../../../gpu/device/device-full.js'
import { Arena } from '../../../../gpu/index/arena.js'
import { treeShape } from '../../../../gpu/index/layout.js'
import { RunMerge } from '../../../../gpu/index/main/merge-run.js'
import { PrefixTree } from '../../../../gpu/index/prefix-tree.js'
import type { IndexShape } from '../../../../gpu/index-structure.js'
import { PAGE_BYTES } from '../../../../gpu/memory/slab.js'
import type { Strategy } from '../../../../gpu/primitives/primitives.js'
import { asBytes } from '../../../../protocol/columns.js'
import { LIMITS } from '../../../../protocol/limits.js'
import { WriteOp } from '../../../../protocol/types.js'
import { expectEqual, MERGED_TUPLES, runProgram } from '../../../differential.js'
import { ModelStructure } from '../../../model-structure.js'
import { everyOther, Random, seedOfRun } from '../../../random.js'
import { reads } from '../../../reads.js'
import { prepareBatch } from '../../../writes.js'
import { openDevice } from '../../open-device.js'
import { treeSubject } from '../tree-subject.js'

const CSS = { unique: false, matchFrom: 0, structure: 'css' } as const
/** Tuples of four words, of six and of seven. */
const U32 = { ...CSS, keyType: 'u32', payloadBytes: 4 } as const
const U64 = { ...CSS, keyType: 'u64', payloadBytes: 8 } as const
const F64 = { ...CSS, keyType: 'f64', payloadBytes: 12 } as const
const STRING = { ...CSS, keyType: 'string', payloadBytes: 8 } as const

const { mergedTuples } = LIMITS
let device: Device
t.before(async () => {
  device = await openDevice(t)
})
t.afterEach(() => Object.assign(LIMITS, { mergedTuples }))

function randomOf(t: Test): Random {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  return new Random(seed)
}

/** Lengths beside the boundaries of an invocation's part, of a serial tile and of a workgroup's. */
const LENGTHS = [1, 7, 8, 9, 511, 512, 513, 2047, 2048, 2049, 4100]

/** Merges two sorted sets of keys, as tuples whose other words say where they were. */
async function mergeAndCompare(
  shape: IndexShape,
  strategy: Strategy,
  sides: readonly (readonly number[])[],
): Promise<boolean> {
  const { tupleStride, keyWords } = treeShape(shape)
  const keys = sides.flat()
  const words = new Uint32Array(keys.length * tupleStride)
  keys.forEach((key, i) => {
    // The higher word of a wide key decides.
    words.fill(i, i * tupleStride, (i + 1) * tupleStride)
    words.set(keyWords === 2 ? [0, key] : [key], i * tupleStride)
  })
  const arena = await Arena.create(device, treeShape(shape), {
    nodes: 1,
    tuples: keys.length,
    extentWords: 1,
  })
  const scratch = device.scratch()
  const merge = new RunMerge(device, treeShape(shape), strategy)
  device.upload(arena.tuples.buffer, asBytes(words))
  arena.takeTuples(sides[0].length)
  const sorted = await arena.roomForSorted(sides[0].length)
  sorted.take()
  const room = await arena.merges.provide(sides[1].length, false)
  if (room === undefined) throw new Error('there is room')
  const equal = scratch.words(1)
  const recorder = device.record()
  recorder.clear(equal, 0, 4)
  merge.record(recorder, arena, merge.plan(scratch, room.merged, equal))
  recorder.submit()
  const merged = await device.readWords(room.merged.buffer, words.length)
  const [isEqual] = await device.readWords(equal, 1)
  const order = keys.map((_, i) => i).sort((a, b) => keys[a] - keys[b] || a - b)
  order.forEach((number, place) => {
    const found = merged.subarray(place * tupleStride, (place + 1) * tupleStride)
    const expected = words.subarray(number * tupleStride, (number + 1) * tupleStride)
    if (!found.every((word, w) => word === expected[w]))
      throw new Error(`${strategy}: another tuple at ${place}`)
  })
  room.giveBack()
  arena.destroy()
  scratch.release()
  return isEqual !== 0
}

function ascending(random: Random, count: number, residue: number): number[] {
  const keys = new Set<number>()
  while (keys.size < count) keys.add(3 * random.below(0x50000000) + residue)
  return [...keys].sort((a, b) => a - b)
}

t.test('runs of every length around a boundary, and where a key is in both', async (t) => {
  const random = randomOf(t)
  for (const strategy of ['serial', 'cooperative'] as const) {
    for (const shape of [U32, U64, F64]) {
      for (const count of LENGTHS) {
        const sides = [ascending(random, count, 0), ascending(random, random.pick(LENGTHS), 1)] as const
        const what = `${strategy} ${shape.keyType}: ${sides.map(({ length }) => length)}`
        t.notOk(await mergeAndCompare(shape, strategy, sides), what)
        // One of all places, so that with many lengths it comes to stand at ends of tiles, too.
        const [first, second] = sides
        const both = [first, [...second, random.pick(first)].sort((a, b) => a - b)]
        t.ok(await mergeAndCompare(shape, strategy, both), `${what}, and one in both`)
      }
      const low = Array.from({ length: 600 }, (_, i) => i)
      const high = low.map((key) => key + 600)
      t.notOk(await mergeAndCompare(shape, strategy, [low, high]))
      t.notOk(await mergeAndCompare(shape, strategy, [high, low]))
      t.ok(await mergeAndCompare(shape, strategy, [low, [599, ...high]]), 'the last one, and the first one')
    }
  }
})

async function metaOf(tree: PrefixTree): Promise<{ sorted: unknown; tuples: unknown; nodes: unknown }> {
  const { meta } = await tree.image()
  return { sorted: meta.sorted, tuples: meta.tuples, nodes: meta.nodes }
}

/** A column of distinct numbers, whose payloads are the same. */
function numbers(from: number, count: number): Uint8Array {
  return asBytes(Uint32Array.from({ length: count }, (_, i) => Math.imul(from + i, 0x9e3779b1)))
}

async function write(
  tree: PrefixTree,
  keys: Uint8Array,
  ops: WriteOp = WriteOp.insert,
  goesOn = false,
): Promise<Uint8Array> {
  const prepared = await prepareBatch(tree, { ops, keys, payloads: keys, goesOn })
  prepared.apply()
  return prepared.codes
}

t.test('batches are merged at once from a length on, and beside a sorted part of a length', async (t) => {
  Object.assign(LIMITS, { mergedTuples: 10 })
  const tree = await PrefixTree.create(device, U32)
  const most = 8
  await write(tree, numbers(0, 11 * most))
  t.match(await metaOf(tree), { sorted: 11 * most, nodes: 1 })
  await write(tree, numbers(20_000, 11))
  let keys = 11 * (most + 1)
  t.match(await metaOf(tree), { sorted: keys, tuples: keys, nodes: 1 })
  await write(tree, numbers(30_000, 11))
  t.match(await metaOf(tree), { sorted: keys, tuples: keys + 11 }, 'the sorted part is too large')
  await tree.compact()
  keys += 11
  await write(tree, numbers(35_000, 11), WriteOp.insert, true)
  keys += 11
  t.match(await metaOf(tree), { sorted: keys, tuples: keys }, 'but not where more of them follow')
  await write(tree, numbers(40_000, 10))
  t.match(await metaOf(tree), { sorted: keys, tuples: keys + 10 }, 'the batch is too small')
  await write(tree, numbers(50_000, 200))
  t.match(await metaOf(tree), { sorted: keys, tuples: keys + 210 }, 'there is a delta')
  await tree.compact()
  keys += 210
  await write(tree, numbers(0, 1), WriteOp.deleteKey)
  await write(tree, numbers(60_000, 200))
  t.match(await metaOf(tree), { sorted: keys, tuples: keys + 200 }, 'a tuple has left')
  await write(tree, numbers(60_000, 200), WriteOp.replace)
  t.match(await metaOf(tree), { sorted: keys, tuples: keys + 200 })
  t.equal(tree.stats().keys, keys + 199)
  tree.destroy()
})

t.test('keys that come again, in one batch or in the index, and batches that are given up', async (t) => {
  const random = randomOf(t)
  Object.assign(LIMITS, { mergedTuples: 10 })
  for (const [shape, mode] of [
    [U32, WriteOp.insert],
    [U32, WriteOp.insertIfAbsent],
    [{ ...U32, unique: true }, WriteOp.insert],
    [{ ...U32, unique: true }, WriteOp.replace],
  ] as const) {
    const tree = await PrefixTree.create(device, shape)
    const model = new ModelStructure(shape)
    for (const [from, count, again] of [
      [0, 700, 0],
      [700, 300, 0],
      [1000, 300, 1],
      [1300, 300, 50],
      [1000, 700, 0],
      [1100, 400, 0],
    ] as const) {
      const keys = Buffer.concat([numbers(from, count), numbers(random.below(from + count), again)])
      const batch = { ops: mode, keys, payloads: keys, goesOn: true }
      const expected = await prepareBatch(model, batch)
      expected.apply()
      const givenUp = await prepareBatch(tree, batch)
      givenUp.discard()
      const prepared = await prepareBatch(tree, batch)
      prepared.apply()
      t.same(prepared.codes, expected.codes)
    }
    const all = { ranges: 1, limit: 10_000 }
    expectEqual(await reads(tree).scan(all), await model.scan(all), JSON.stringify(shape))
    t.match(await metaOf(tree), { nodes: 1 }, 'nothing was hung into nodes')
    const { payloads, keys } = model.stats()
    t.match(tree.stats(), { payloads, keys })
    tree.destroy()
  }
})

t.test('without room for a second sorted part batches go to the delta', async (t) => {
  Object.assign(LIMITS, { mergedTuples: 10 })
  const tree = await PrefixTree.create(device, U32)
  await write(tree, numbers(0, 3000))
  const { allocatePages } = device
  let refused = 0
  for (const [i, label] of ['CSS-tree directory', 'removed tuples', ''].entries()) {
    device.allocatePages = (sort, bytes, given) => {
      if (given !== label) return allocatePages.call(device, sort, bytes, given)
      refused++
      throw new DeviceFull('the device is full')
    }
    const before = tree.stats()
    await write(tree, numbers(5000 + 1000 * i, 1000))
    device.allocatePages = allocatePages
    t.equal(tree.stats().keys, before.keys + 1000)
    const { sorted, tuples } = await metaOf(tree)
    t.equal(sorted === tuples, label === '', `no ${label}`)
    await tree.compact()
  }
  t.ok(refused >= 2, `${refused} were refused`)
  tree.destroy()
})

t.test('the directory may wait for the first read, and images for none', async (t) => {
  Object.assign(LIMITS, { mergedTuples: 10 })
  for (const read of ['get', 'scan', 'compact', 'write', 'image'] as const) {
    const tree = await PrefixTree.create(device, U32)
    for (const from of [0, 1000, 2000]) {
      await write(tree, numbers(from, 1000), WriteOp.insert, true)
      await tree.compactIfWorthwhile({ inBackground: true, goesOn: true })
    }
    if (read === 'compact') await tree.compact()
    if (read === 'write') await write(tree, numbers(2990, 5), WriteOp.deleteKey)
    if (read === 'scan') t.equal((await reads(tree).scan({ ranges: 1, limit: 5000 })).keys.byteLength, 12_000)
    const asked = read === 'image' ? await treeSubject(device).reload(tree) : tree
    const { payloads } = await reads(asked).get(numbers(500, 2000))
    t.same(payloads, numbers(500, 2000), read)
    tree.destroy()
    if (asked !== tree) asked.destroy()
  }
})

t.test('many batches take turns in two regions, of which one is left in the end', async (t) => {
  const random = randomOf(t)
  Object.assign(LIMITS, { mergedTuples: 10 })
  const tree = await PrefixTree.create(device, U32)
  let count = 0
  let most = 0
  for (let step = 0; step < 30; step++) {
    // Enough beside all that came before to be merged at once on any adapter.
    const added = 400 + random.below(400)
    const column = numbers(count, added)
    const prepared = await prepareBatch(tree, { ops: 0, keys: column, payloads: column, goesOn: true })
    if (random.chance(0.3)) {
      prepared.discard()
      continue
    }
    prepared.apply()
    count += added
    await tree.compactIfWorthwhile({ inBackground: true, goesOn: true })
    most = Math.max(most, tree.stats().deviceBytes)
    if (random.chance(0.2)) t.same((await reads(tree).get(numbers(0, count))).payloads, numbers(0, count))
  }
  t.match(await metaOf(tree), { sorted: count, tuples: count })
  await tree.compactIfWorthwhile()
  t.ok(tree.stats().deviceBytes < most, `${tree.stats().deviceBytes} of ${most} bytes`)
  t.same((await reads(tree).get(numbers(0, count))).payloads, numbers(0, count))
  tree.destroy()
})

t.test('of many batches most find the room that one before them has made', async (t) => {
  Object.assign(LIMITS, { mergedTuples: 10 })
  const { allocatePages } = device
  for (const unique of [false, true]) {
    const tree = await PrefixTree.create(device, { ...U32, unique })
    const made: string[] = []
    device.allocatePages = (sort, bytes, label) => {
      made.push(label)
      return allocatePages.call(device, sort, bytes, label)
    }
    // Two clumps of keys, between which hundreds of buckets are empty.
    const clumps = (from: number, count: number) =>
      asBytes(Uint32Array.from({ length: count }, (_, i) => from + i + ((i & 1) === 0 ? 0 : 0xf0000000)))
    const all: Uint8Array[] = []
    for (let batch = 0; batch < 16; batch++) {
      const keys = clumps(1000 * batch, 1000)
      const write = { ops: WriteOp.insert, keys, payloads: keys, goesOn: true }
      const givenUp = await prepareBatch(tree, write)
      givenUp.discard()
      const before = Buffer.concat(all)
      // Built, and built again, in buffers that the next part is going to have.
      if (batch % 3 === 1) t.same((await reads(tree).get(before)).payloads, before, `${batch} batches`)
      const prepared = await prepareBatch(tree, write)
      prepared.apply()
      all.push(keys)
    }
    device.allocatePages = allocatePages
    const directories = made.filter((label) => label === 'CSS-tree directory').length
    t.ok(directories < 16, `${directories} directories for 32 batches`)
    const roomBeside = () => {
      const separators = tree.stats().regions.find(({ role }) => role === 'separators')
      return separators!.bytes - separators!.usedBytes
    }
    t.ok(roomBeside() >= 16)
    const reloaded = await treeSubject(device).reload(tree)
    const expected = Buffer.concat(all)
    for (const each of [tree, reloaded]) t.same((await reads(each).get(expected)).payloads, expected)
    t.match(await metaOf(tree), { sorted: 16_000, tuples: 16_000 })
    await write(tree, clumps(500, 2), WriteOp.deleteKey)
    await tree.compact()
    t.ok(roomBeside() < PAGE_BYTES, 'less than a page is no room')
    t.match(tree.stats(), { keys: 15_998 })
    tree.destroy()
    reloaded.destroy()
  }
})

t.test('room for what follows is made even where it cannot be half as large again', async (t) => {
  Object.assign(LIMITS, { mergedTuples: 10 })
  const { allocatePages, regionBytes } = device
  device.regionBytes = 1024 * 1024
  const most = device.regionBytes / (4 * treeShape(U32).tupleStride)
  const tree = await PrefixTree.create(device, U32)
  const first = Math.ceil(0.7 * most)
  await write(tree, numbers(0, first), WriteOp.insert, true)
  let made = 0
  device.allocatePages = (sort, bytes, label) => {
    if (label === 'tuples') made++
    return allocatePages.call(device, sort, bytes, label)
  }
  for (let batch = 0; batch < 10; batch++) {
    await write(tree, numbers(first + 1500 * batch, 1500), WriteOp.insert, true)
    await tree.compactIfWorthwhile({ inBackground: true, goesOn: true })
  }
  Object.assign(device, { allocatePages, regionBytes })
  const all = numbers(0, first + 15_000)
  t.same((await reads(tree).get(all)).payloads, all)
  t.ok(made <= 2, `${made} regions for 10 batches`)
  tree.destroy()
})

t.test('random programs of writes that are merged at once against an ordered map', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  for (const shape of everyOther([{ ...U64, unique: true }, F64, STRING], seed)) {
    Object.assign(LIMITS, { mergedTuples: random.pick(MERGED_TUPLES.slice(0, 2)) })
    await runProgram(treeSubject(device), random, shape, { steps: 8, inserts: 0.7 })
    t.pass(shape.keyType)
  }
})
