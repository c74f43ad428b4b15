import t from 'tap'
import { Device } from '../../../gpu/device/device.js'
import { loadEntries } from '../../../gpu/index/entries/load.js'
import { ShardedTree } from '../../../gpu/index/shards/sharded-tree.js'
import type { IndexShape, IndexStructure, StructureEntries } from '../../../gpu/index-structure.js'
import { columnOf } from '../../../protocol/columns.js'
import { keyWidth, WriteOp } from '../../../protocol/types.js'
import { everyOther, Random, seedOfRun } from '../../random.js'
import { reads } from '../../reads.js'
import { prepareBatch } from '../../writes.js'
import { openDevice } from '../open-device.js'

const KEYS = 700
const ITEMS = 900

const SHAPES: readonly Partial<IndexShape>[] = [
  {},
  { keyType: 'u64', structure: 'css', payloadBytes: 8 },
  { keyType: 'i32', layout: 'full', linked: true, payloadBytes: 5 },
  { keyType: 'f64', structure: 'css', unique: true, payloadBytes: 16, matchFrom: 2 },
  { keyType: 'string', structure: 'css', payloadBytes: 6 },
  { keyType: 'string', layout: 'full', allocation: 'coalesced', payloadBytes: 8 },
]

const device = await openDevice(t)
const seed = seedOfRun()

type Columns = ReadonlyMap<string, Buffer>

async function read({ columns, release }: StructureEntries): Promise<Columns> {
  const read = new Map<string, Buffer>()
  for await (const { name, chunks } of columns) {
    const all: Uint8Array[] = []
    for await (const chunk of chunks) all.push(chunk.slice())
    read.set(name, Buffer.concat(all))
  }
  release()
  return read
}

async function load(shape: IndexShape, entries: StructureEntries, on = device): Promise<ShardedTree> {
  const columns = await read(entries)
  const tree = await ShardedTree.create(on, shape)
  await loadEntries(tree, {
    meta: entries.meta,
    names: [...columns.keys()],
    read: async function* (name) {
      yield columns.get(name)!
    },
  })
  return tree
}

/** A batch of writes of all kinds. */
function batch(shape: IndexShape, random: Random, count = ITEMS) {
  const width = keyWidth(shape.keyType)
  const numbers = Array.from({ length: count }, () => random.below(KEYS))
  const keys =
    width === undefined
      ? columnOf(numbers.map((number) => Buffer.from(`key ${number} ${'x'.repeat(number % 50)}`)))
      : { bytes: fixedKeys(numbers, shape), offsets: undefined }
  const ops = Uint8Array.from(numbers, () =>
    random.pick([WriteOp.insert, WriteOp.insert, WriteOp.replace, WriteOp.deleteKey, WriteOp.deletePair]),
  )
  // Few different ones, so that some pairs are there to be deleted.
  const payloads = new Uint8Array(count * shape.payloadBytes).map((_, i) =>
    i % shape.payloadBytes === shape.matchFrom * 4 ? random.below(3) : 1,
  )
  return { ops, keys: keys.bytes, keyOffsets: keys.offsets, payloads }
}

function fixedKeys(numbers: readonly number[], { keyType }: IndexShape): Uint8Array {
  const column = {
    u32: () => Uint32Array.from(numbers),
    i32: () => Int32Array.from(numbers, (number) => number - KEYS / 2),
    f64: () => Float64Array.from(numbers, (number) => (number - KEYS / 2) / 7),
    u64: () => BigUint64Array.from(numbers, (number) => BigInt(number) << 20n),
  }[String(keyType)]!()
  return new Uint8Array(column.buffer)
}

async function write(structures: readonly IndexStructure[], given: ReturnType<typeof batch>): Promise<void> {
  for (const structure of structures) {
    const prepared = await prepareBatch(structure, given)
    prepared.apply()
  }
}

for (const given of everyOther(SHAPES, seed)) {
  const shape: IndexShape = { keyType: 'u32', payloadBytes: 4, unique: false, matchFrom: 0, ...given }
  t.test(`entries come back as they were: ${JSON.stringify(given)}`, async (t) => {
    t.comment(`TEST_SEED=${seed}`)
    const random = new Random(seed)
    const tree = await ShardedTree.create(device, shape)
    // A tree and no model: which payloads get no number, since they die within their batch, is up to structures.
    const twin = await ShardedTree.create(device, shape)
    for (let i = 0; i < 4; i++) {
      await write([tree, twin], batch(shape, random))
      if (i === 1) await tree.compactIfWorthwhile()
    }
    const everything = { ranges: 1, limit: 10 * ITEMS }
    const entries = await tree.entries()
    const { keys, payloads } = twin.stats()
    t.same(entries.meta, { keys, payloads })
    // What is written meanwhile does not matter.
    await write([tree], batch(shape, random))
    const loaded = await load(shape, entries)
    t.same(await reads(loaded).scan(everything), await reads(twin).scan(everything), 'with tokens')
    const copy = await load(shape, await loaded.entries())
    t.same(await read(await copy.entries()), await read(await loaded.entries()))
    for (let i = 0; i < 2; i++) await write([loaded, copy, twin], batch(shape, random))
    for (const structure of [loaded, copy]) {
      t.same(
        await reads(structure).scan(everything),
        await reads(twin).scan(everything),
        'sequence numbers go on',
      )
      t.match(structure.stats(), { keys: twin.stats().keys, payloads: twin.stats().payloads })
      structure.destroy()
    }
    tree.destroy()
    twin.destroy()
  })
}

t.test('long lists, of which parts are dead', async (t) => {
  const shape: IndexShape = { keyType: 'u32', payloadBytes: 4, unique: false, matchFrom: 0 }
  const tree = await ShardedTree.create(device, shape)
  const count = 5000
  const column = (value: (i: number) => number) =>
    new Uint8Array(Uint32Array.from({ length: count }, (_, i) => value(i)).buffer)
  await write([tree], {
    ops: new Uint8Array(count),
    keys: column((i) => i % 3),
    keyOffsets: undefined,
    payloads: column((i) => i),
  })
  const dead = { keys: column((i) => (3 * i) % 3), payloads: column((i) => (3 * i) % count) }
  await write([tree], { ops: new Uint8Array(count).fill(WriteOp.deletePair), keyOffsets: undefined, ...dead })
  const loaded = await load(shape, await tree.entries())
  const everything = { ranges: 1, limit: count }
  t.same(await reads(loaded).scan(everything), await reads(tree).scan(everything))
})

t.test('shards are no part of it', async (t) => {
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const shape: IndexShape = { keyType: 'u32', payloadBytes: 4, unique: false, matchFrom: 0 }
  const small = await Device.open('auto', 64 * 1024)
  t.teardown(() => small.destroy())
  const tree = await ShardedTree.create(small, shape)
  const twin = await ShardedTree.create(device, shape)
  for (let i = 0; i < 12; i++) {
    const numbers = Uint32Array.from({ length: ITEMS }, () => random.below(5000) * 800_003)
    const ops = Uint8Array.from(numbers, () => random.pick([WriteOp.insert, WriteOp.insert, WriteOp.replace]))
    const column = new Uint8Array(numbers.buffer)
    await write([tree, twin], { ops, keys: column, keyOffsets: undefined, payloads: column })
  }
  t.ok(tree.stats().shards > 1)
  const everything = { ranges: 1, limit: 20 * ITEMS }
  const whole = await load(shape, await tree.entries())
  t.equal(whole.stats().shards, 1)
  t.same(await reads(whole).scan(everything), await reads(twin).scan(everything))
  const again = await load(shape, await whole.entries(), small)
  t.ok(again.stats().shards > 1)
  const back = await load(shape, await again.entries())
  t.same(await reads(back).scan(everything), await reads(twin).scan(everything))
})

t.test('of nothing there is nothing', async (t) => {
  const shape: IndexShape = { keyType: 'u32', payloadBytes: 4, unique: false, matchFrom: 0 }
  const tree = await ShardedTree.create(device, shape)
  const entries = await tree.entries()
  t.same(entries.meta, { keys: 0, payloads: 0 })
  t.same((await load(shape, entries)).stats().keys, 0)
})
