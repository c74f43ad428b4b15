import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import type { Device } from '../../../gpu/device/device.js'
import { DeviceFull } from '../../../gpu/device/device-full.js'
import { PrefixTree } from '../../../gpu/index/prefix-tree.js'
import type { IndexShape, StructureImage } from '../../../gpu/index-structure.js'
import { asBytes, columnOf } from '../../../protocol/columns.js'
import { LIMITS } from '../../../protocol/limits.js'
import { WriteOp } from '../../../protocol/types.js'
import { expectEqual } from '../../differential.js'
import { Random, seedOfRun } from '../../random.js'
import { reads } from '../../reads.js'
import { prepareBatch } from '../../writes.js'
import { openDevice } from '../open-device.js'
import { takenBytes } from '../taken-bytes.js'
import { HeldPasses } from './held-passes.js'
import { MergeSubject } from './merge-subject.js'

const U32 = { keyType: 'u32', payloadBytes: 4, unique: true, matchFrom: 0, structure: 'css' } as const
const STRING = { ...U32, keyType: 'string', unique: false } as const
const PREFIX_U32 = { ...U32, unique: false, structure: 'prefix' } as const
/** Few, because making the kernels of one takes longer than its tests; the differential test has all. */
const SHAPES: readonly IndexShape[] = [U32, STRING, PREFIX_U32]

// All that these tests insert goes to a delta first.
Object.assign(LIMITS, { mergedTuples: Number.POSITIVE_INFINITY })

let device: Device
let passes: HeldPasses
t.before(async () => {
  device = await openDevice(t)
  // What all trees of a shape share stays.
  for (const shape of SHAPES) (await PrefixTree.create(device, shape)).destroy()
})
t.beforeEach(() => {
  passes = new HeldPasses(device)
})
t.afterEach(() => {
  passes.end()
  device.structureBytes = Number.POSITIVE_INFINITY
})

function randomOf(t: Test): Random {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  return new Random(seed)
}

/** What an image says of a tree. */
async function metaOf(tree: PrefixTree): Promise<StructureImage['meta']> {
  const { meta } = await tree.image()
  return meta
}

function name({ structure = 'prefix', keyType, unique }: IndexShape): string {
  return `${structure} ${keyType}${unique ? ' unique' : ''}`
}

t.test('reads and writes between the passes of a merge', async (t) => {
  const random = randomOf(t)
  for (const shape of SHAPES) {
    const subject = await MergeSubject.open(device, random, shape)
    const { tree, unmerged } = subject
    const old = await reads(unmerged).scan({ ranges: 1, limit: 100 })
    await tree.compact({ inBackground: true })
    const { background } = tree
    let held = 0
    for (; await passes.reached(tree); held++) {
      if (random.chance(0.7)) await subject.writeSome()
      await subject.compare(t, `${name(shape)} behind pass ${held}`)
      passes.goOn()
    }
    t.ok(held >= 4, `${held} passes`)
    t.equal(await background, undefined, 'the merge does not fail')
    t.ok(tree.stats().garbageBytes < unmerged.stats().garbageBytes, 'there is less garbage')
    await subject.compare(t, `${name(shape)} after the merge`)
    await subject.comparePositions(name(shape))
    const { tokens, tokenOffsets } = old
    const rest = { ranges: 1, limit: 100, tokens, tokenOffsets }
    expectEqual(
      await reads(tree).scan(rest),
      await reads(unmerged).scan(rest),
      'a token from before the merge goes on',
    )
    await subject.writeSome()
    await subject.compare(t, `${name(shape)} after a further write`)
    subject.destroy()
  }
  t.equal(takenBytes(device), 0, 'all is given back')
})

t.test('programs in which merges take their own time', async (t) => {
  const random = randomOf(t)
  passes.free()
  for (const shape of SHAPES) {
    const subject = await MergeSubject.open(device, random, shape)
    const { tree } = subject
    for (let step = 0; step < 4; step++) {
      await tree.compact({ inBackground: true })
      for (let writes = random.below(3); writes > 0; writes--) await subject.writeSome()
      // Turns of the event loop, so that the merge is found in all of its states.
      for (let turns = random.below(30); turns > 0; turns--) await new Promise(setImmediate)
      if (random.chance(0.4)) await subject.compare(t, `${name(shape)}, step ${step}`)
      if (random.chance(0.3)) await tree.compactIfWorthwhile({ inBackground: true })
      if (random.chance(0.2)) t.equal(await tree.background, undefined)
    }
    t.equal(await tree.background, undefined, 'no merge fails')
    await subject.compare(t, name(shape))
    await subject.comparePositions(name(shape))
    subject.destroy()
  }
})

function numbers(from: number, count: number): Uint8Array {
  return asBytes(Uint32Array.from({ length: count }, (_, i) => (from + i) * 7))
}

async function write(tree: PrefixTree, ops: WriteOp, keys: Uint8Array): Promise<void> {
  const prepared = await prepareBatch(tree, { ops, keys, payloads: keys })
  prepared.apply()
}

/** A tree with as many keys in order as in its delta. */
async function openTree(keys: number, shape: IndexShape = U32): Promise<PrefixTree> {
  const tree = await PrefixTree.create(device, shape)
  await write(tree, WriteOp.insert, numbers(0, keys / 2))
  await write(tree, WriteOp.insert, numbers(keys / 2, keys / 2))
  return tree
}

/** How many of the keys there are. */
async function countFound(tree: PrefixTree, keys: Uint8Array): Promise<number> {
  const counts = await reads(tree).count(keys)
  return new Uint32Array(counts.slice().buffer).filter((count) => count > 0).length
}

t.test('what is deleted during a merge stays deleted', async (t) => {
  for (const shape of [U32, PREFIX_U32]) {
    const tree = await openTree(2000, shape)
    await tree.compact({ inBackground: true })
    let next = 0
    for (; await passes.reached(tree); next += 20) {
      // From what lies in order and from the delta, by key and by pair.
      await write(tree, WriteOp.deleteKey, numbers(next, 10))
      await write(tree, WriteOp.deletePair, numbers(next + 10, 10))
      await write(tree, WriteOp.deletePair, numbers(1000 + next, 10))
      await write(tree, WriteOp.deleteKey, numbers(1010 + next, 10))
      t.equal(await countFound(tree, numbers(0, 2000)), 2000 - 2 * (next + 20))
      passes.goOn()
    }
    t.ok(next > 0)
    for (const when of ['after the merge', 'after another one']) {
      t.equal(await countFound(tree, numbers(0, 2000)), 2000 - 2 * next, when)
      t.equal(await countFound(tree, numbers(0, next)), 0, when)
      t.equal(await countFound(tree, numbers(1000, next)), 0, when)
      await tree.compact()
    }
    tree.destroy()
  }
})

t.test('columns of a write may be used again once it is applied', async (t) => {
  const tree = await openTree(100)
  await tree.compact({ inBackground: true })
  const keys = Buffer.from(numbers(100, 100))
  await write(tree, WriteOp.insert, keys)
  keys.fill(0)
  passes.free()
  await tree.background
  t.equal(await countFound(tree, numbers(0, 200)), 200)
  tree.destroy()
})

t.test('a write that is discarded, or refused, is not repeated', async (t) => {
  const tree = await openTree(100)
  await tree.compact({ inBackground: true })
  const discarded = await prepareBatch(tree, {
    ops: WriteOp.insert,
    keys: numbers(100, 5),
    payloads: numbers(0, 5),
  })
  discarded.discard()
  await write(tree, WriteOp.insert, numbers(105, 5))
  device.structureBytes = 1
  passes.free()
  await t.rejects(write(tree, WriteOp.insert, numbers(110, 100_000)), { code: 'OUT_OF_DEVICE_MEMORY' })
  device.structureBytes = Number.POSITIVE_INFINITY
  t.equal(tree.stats().keys, 105)
  t.equal(await countFound(tree, numbers(0, 120)), 105)
  tree.destroy()
})

t.test('a read that has begun on the old arena ends on it', async (t) => {
  const tree = await PrefixTree.create(device, STRING)
  // More keys than come with the rest of a result.
  const texts = Array.from({ length: 8000 }, (_, i) => Buffer.from(`a key of some length ${i}`))
  for (const part of [texts.slice(0, 4000), texts.slice(4000)]) {
    const { bytes: keys, offsets: keyOffsets } = columnOf(part)
    const prepared = await prepareBatch(tree, {
      ops: WriteOp.insert,
      keys,
      keyOffsets,
      payloads: numbers(0, 4000),
    })
    prepared.apply()
  }
  const all = { ranges: 1, limit: 10_000 }
  const expected = await reads(tree).scan(all)
  t.equal(expected.keyOffsets?.length, 8001)

  const { submitAndRead } = device
  let goOn = () => {}
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  device.submitAndRead = async (...args) => {
    const columns = await submitAndRead.apply(device, args)
    await held
    return columns
  }
  const scanning = reads(tree).scan(all)
  device.submitAndRead = submitAndRead
  passes.free()
  await tree.compact({ inBackground: true })
  const { background } = tree
  let isOver = false
  void background?.then(() => {
    isOver = true
  })
  while ((await metaOf(tree)).sorted !== 8000) await new Promise(setImmediate)
  const { keys, keyOffsets } = expected
  const prepared = await prepareBatch(tree, {
    ops: WriteOp.deleteKey,
    keys,
    ...(keyOffsets && { keyOffsets }),
  })
  prepared.apply()
  t.notOk(isOver, 'the merge waits for the read')
  t.equal(tree.stats().deviceBytes, takenBytes(device), 'and what it holds counts')
  goOn()
  t.ok(isDeepStrictEqual(await scanning, expected))
  await background
  t.equal(tree.stats().deviceBytes, takenBytes(device))
  t.equal(tree.stats().keys, 0)
  tree.destroy()
})

t.test('an image that is taken during a merge is one of the moment', async (t) => {
  const random = randomOf(t)
  for (const shape of [U32, STRING]) {
    const subject = await MergeSubject.open(device, random, shape)
    const { tree } = subject
    await tree.compact({ inBackground: true })
    for (let pass = 0; (await passes.reached(tree)) && pass < 3; pass++) passes.goOn()
    await subject.writeSome()
    const image = await tree.image()
    passes.free()
    await tree.background
    const { keys, keyOffsets } = await reads(tree).scan({ ranges: 1, limit: 100 })
    const later = await prepareBatch(tree, {
      ops: WriteOp.deleteKey,
      keys,
      ...(keyOffsets && { keyOffsets }),
    })
    later.apply()
    const copy = await PrefixTree.restore(device, tree.shape, image)
    await subject.compare(t, name(shape), copy)
    copy.destroy()
    subject.destroy()
    passes.hold()
  }
  t.equal(takenBytes(device), 0)
})

/** Ways in which a merge comes to nothing. Those that may fail go on meanwhile. */
const ENDS: Readonly<Record<string, (tree: PrefixTree) => Promise<unknown>>> = {
  'a pass that fails': async () => passes.fail(new Error('a pass fails')),
  'a compaction': (tree) => tree.compact(),
  'its destruction': async (tree) => tree.destroy(),
}

t.test('a merge that ends early leaves nothing behind, whenever that is', async (t) => {
  const random = randomOf(t)
  for (const shape of [U32, PREFIX_U32]) {
    for (const [what, run] of Object.entries(ENDS)) {
      const subject = await MergeSubject.open(device, random, shape)
      const { tree, unmerged } = subject
      const before = Number((await metaOf(tree)).tuplesRemoved)
      await tree.compact({ inBackground: true })
      const pass = random.below(5)
      for (let i = 0; i < pass && (await passes.reached(tree)); i++) passes.goOn()
      await passes.reached(tree)
      await subject.writeSome()
      const { background } = tree
      const ended = run(tree)
      passes.goOn()
      await ended
      t.equal((await background)?.code, what === 'a pass that fails' ? 'INTERNAL' : undefined)
      const own = takenBytes(device) - unmerged.stats().deviceBytes
      t.equal(own, tree.stats().deviceBytes, `${what} behind pass ${pass}`)
      if (what !== 'its destruction') {
        await subject.compare(t, what)
        const now = Number((await metaOf(tree)).tuplesRemoved)
        t.equal(now >= before, what !== 'a compaction', 'it was given up')
      }
      subject.destroy()
    }
  }
  t.equal(takenBytes(device), 0)
})

t.test('a tree is compacted at once where a third copy has no room', async (t) => {
  for (const shape of [U32, PREFIX_U32]) {
    const tree = await openTree(4000, shape)
    await write(tree, WriteOp.deleteKey, numbers(0, 2000))
    device.structureBytes = 2 * tree.stats().deviceBytes
    await tree.compact({ inBackground: true })
    t.equal(tree.background, undefined)
    t.equal(tree.stats().garbageBytes, 0)

    device.structureBytes = Number.POSITIVE_INFINITY
    await write(tree, WriteOp.deleteKey, numbers(2000, 1000))
    const { allocatePages } = device
    device.allocatePages = (sort, ...others) => {
      if (sort === 'copies') throw new DeviceFull('the device is full')
      return allocatePages.call(device, sort, ...others)
    }
    await tree.compact({ inBackground: true })
    device.allocatePages = allocatePages
    t.equal(tree.background, undefined)
    t.equal(tree.stats().garbageBytes, 0)
    t.equal(await countFound(tree, numbers(0, 4000)), 1000)
    t.equal(tree.stats().deviceBytes, takenBytes(device))
    tree.destroy()
  }
})

t.test('what fails in the background is done between writes the next time', async (t) => {
  const tree = await openTree(40_000)
  passes.free()
  const { allocatePages } = device
  await tree.compactIfWorthwhile({ inBackground: true })
  device.allocatePages = () => {
    throw new DeviceFull('the device is full')
  }
  t.match(await tree.background, { code: 'OUT_OF_DEVICE_MEMORY' })
  device.allocatePages = allocatePages
  t.equal((await metaOf(tree)).sorted, 20_000)
  t.equal(tree.stats().deviceBytes, takenBytes(device))
  t.equal(await tree.compactIfWorthwhile({ inBackground: true }), true)
  t.equal((await metaOf(tree)).sorted, 40_000)
  await write(tree, WriteOp.insert, numbers(40_000, 20_000))
  t.equal(await tree.compactIfWorthwhile({ inBackground: true }), false)
  t.not(tree.background, undefined, 'and then in the background again')
  tree.destroy()
})

t.test('writes without a pause do not keep a merge from its end', async (t) => {
  const tree = await openTree(40_000)
  await tree.compactIfWorthwhile({ inBackground: true })
  let written = 40_000
  const writeOn = async () => {
    await write(tree, WriteOp.insert, numbers(written, 10))
    written += 10
    return tree.compactIfWorthwhile({ inBackground: true })
  }
  for (let behind = 0; behind < 6; behind++) t.equal(await writeOn(), false)
  passes.free()
  // Each turn catches up with two writes and adds one; until then the new arena is being built.
  let turns = 0
  while (!(await writeOn())) turns++
  t.ok(turns < 1000, `${turns} turns`)
  await tree.background
  const { sorted, tuples } = await metaOf(tree)
  t.same([sorted, tuples], [40_000, written])
  t.equal(await countFound(tree, numbers(0, written)), written)
  tree.destroy()
})

t.test('writers wait for a merge past the bound on what is remembered', async (t) => {
  const { mergeBacklogBytes } = LIMITS
  t.teardown(() => Object.assign(LIMITS, { mergeBacklogBytes }))
  // Two batches of a hundred keys with their payloads.
  Object.assign(LIMITS, { mergeBacklogBytes: 1600 })
  const tree = await openTree(200)
  await tree.compact({ inBackground: true })
  await write(tree, WriteOp.insert, numbers(200, 100))
  await write(tree, WriteOp.insert, numbers(300, 100))
  let isWritten = false
  const writing = write(tree, WriteOp.insert, numbers(400, 100)).then(() => {
    isWritten = true
  })
  while (await passes.reached(tree)) {
    t.notOk(isWritten)
    t.equal(await countFound(tree, numbers(0, 500)), 400, 'readers do not wait')
    passes.goOn()
  }
  await writing
  t.equal((await metaOf(tree)).sorted, 200)
  t.equal(await countFound(tree, numbers(0, 500)), 500)

  await tree.compact({ inBackground: true })
  await write(tree, WriteOp.insert, numbers(500, 1000))
  t.not(tree.background, undefined, 'one batch of any size may be remembered')
  tree.destroy()
})
