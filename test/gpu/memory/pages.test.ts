import t from 'tap'
import { PrefixTree } from '../../../gpu/index/prefix-tree.js'
import { Region } from '../../../gpu/memory/region.js'
import { PAGE_BYTES, SORTS } from '../../../gpu/memory/slab.js'
import { asBytes, type Column } from '../../../protocol/columns.js'
import { WriteOp } from '../../../protocol/types.js'
import { shapeOf } from '../../../src/engine/loader.js'
import { Random, seedOfRun } from '../../random.js'
import { reads } from '../../reads.js'
import { openDevice } from '../open-device.js'
import { takenBytes } from '../taken-bytes.js'

/** As indexes have them that are asked for no more than their structure: prefix trees have partitions. */
const SHAPES = (['css', 'prefix'] as const).map((structure) =>
  shapeOf({ name: 'any', keyType: 'u64', payloadKind: 'u64', unique: false, structure }),
)

const KEY_TYPES = ['u32', 'u64', 'string'] as const

/** Far more than the test's indexes take: half of it stays free. */
const RESERVE = 2 ** 28

const MEBI = 2 ** 20

/** Keys from `first` on, none of which is near the one before it. */
function numbers(first: number, count: number): Uint8Array {
  return asBytes(BigUint64Array.from({ length: count }, (_, i) => BigInt((first + i) * 0x9e37_79b1)))
}

async function insert(tree: PrefixTree, first: number, count: number): Promise<void> {
  const keys = numbers(first, count)
  const prepared = await tree.prepare({
    ops: WriteOp.insert,
    keys: { bytes: keys, width: 8 },
    payloads: { bytes: keys, width: 8 },
  })
  prepared.apply()
}

t.test('regions grow, shrink and go in any order, and hold what was written', async (t) => {
  const device = await openDevice(t)
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const live = new Map<Region, number[]>()
  for (let step = 0; step < 400; step++) {
    const region = live.size === 0 ? undefined : random.pick([...live.keys()])
    if (region === undefined || (live.size < 12 && random.chance(0.2))) {
      live.set(await Region.create(device, random.pick(['tree', 'keys']), 'test', 1, 1), [])
    } else if (random.chance(0.1)) {
      region.destroy()
      live.delete(region)
    } else if (random.chance(0.2)) {
      await region.fit(0)
    } else {
      const words = Array.from({ length: 1 + random.below(1500) }, () => random.word())
      await region.reserve(words.length)
      const first = region.take(words.length)
      device.upload(region.buffer, asBytes(Uint32Array.from(words)), 4 * first)
      for (const word of words) live.get(region)!.push(word)
    }
  }
  for (const [region, words] of live) {
    const room = region.bytes / 4 - words.length
    const held = await device.readWords(region.buffer, region.bytes / 4)
    t.same([...held], [...words, ...Array<number>(room).fill(0)], 'what was never handed out is zero')
    region.destroy()
  }
  t.equal(takenBytes(device), 0)
})

for (const isWritten of [false, true])
  t.test(
    `a long region moves part by part${isWritten ? ', and keeps what is written meanwhile' : ''}`,
    async (t) => {
      const device = await openDevice(t)
      device.pages.keepReserve(128 * MEBI)
      const isStocked = () =>
        device.pages.figures().some(({ sort, bytes }) => sort === 'tree' && bytes >= 128 * MEBI)
      while (!isStocked()) await new Promise((resolve) => setTimeout(resolve, 20))
      const create = async (mebi: number) => {
        const words = (mebi * MEBI) / 4
        const region = await Region.create(device, 'tree', `${mebi} MiB`, 1, words)
        region.take(words)
        return region
      }
      const regions = [await create(40), await create(36), await create(36), await create(4)] as const
      const [, long, , short] = regions
      const content = Uint32Array.from({ length: long.records }, (_, i) => Math.imul(i, 0x9e37_79b1))
      device.upload(long.buffer, asBytes(content))
      device.upload(short.buffer, asBytes(content.subarray(0, short.records)))
      const before = long.buffer.offset
      regions[0].destroy()
      regions[2].destroy()
      const scattered = () =>
        device.pages.figures().reduce((sum, { scatteredBytes }) => sum + scatteredBytes, 0)
      t.ok(scattered() > 32 * MEBI)
      for (let turn = 1; long.buffer.offset === before; turn++) {
        // By then some of it has been copied.
        if (isWritten && turn === 3) {
          content[0] = turn
          device.upload(long.buffer, asBytes(content.subarray(0, 1)))
        }
        await device.workDone()
      }
      for (const { buffer, records } of [long, short]) {
        const words = await device.readWords(buffer, records)
        const wanted = content.subarray(0, records)
        if (records === short.records) wanted[0] = 0
        t.ok(words.every((word, i) => word === wanted[i]))
      }
    },
  )

t.test('a region grows where it lies as long as the pages behind it are free', async (t) => {
  const device = await openDevice(t)
  const region = await Region.create(device, 'tree', 'one', 1, 1)
  const { offset } = region.buffer
  await region.reserve((8 * PAGE_BYTES) / 4)
  t.equal(region.buffer.offset, offset)
  const behind = await Region.create(device, 'tree', 'another', 1, 1)
  await region.reserve((64 * PAGE_BYTES) / 4)
  t.not(region.buffer.offset, offset)
  behind.destroy()
  region.destroy()
})

t.test('a region grows into what is free before a slab is made for it', async (t) => {
  const device = await openDevice(t)
  const words = 75 * PAGE_BYTES
  const create = async (label: string) => {
    const region = await Region.create(device, 'tree', label, 1, words)
    region.take(words)
    return region
  }
  const regions = [await create('one'), await create('another')] as const
  const before = device.creations
  await regions[0].reserve(1)
  t.equal(device.creations, before)
  t.equal(regions[0].bytes, (1024 - 600) * PAGE_BYTES, 'the slab has so much beside both')
  await regions[0].reserve(words)
  t.ok(device.creations > before, 'what is needed has no room')
  t.equal(regions[0].bytes, 848 * PAGE_BYTES, 'and it doubles')
  for (const region of regions) region.destroy()
})

t.test('the reserve has room for two regions that grow at once', async (t) => {
  const device = await openDevice(t)
  const words = MEBI
  const create = async (label: string) => {
    const region = await Region.create(device, 'tree', label, 1, words)
    region.take(words)
    return region
  }
  const regions = [await create('one'), await create('another')]
  device.pages.keepReserve(MEBI)
  const free = () => device.pages.figures().find(({ sort }) => sort === 'tree')!.freeBytes
  while (free() < 16 * MEBI) await new Promise((resolve) => setTimeout(resolve, 20))
  const before = device.creations
  for (const region of regions) await region.reserve(1)
  t.equal(device.creations, before)
  for (const region of regions) {
    t.equal(region.bytes, 8 * words)
    region.destroy()
  }
})

t.test('100 indexes grow a thousandfold within the reserve, and no buffer is made for it', async (t) => {
  const device = await openDevice(t)
  device.pages.keepReserve(RESERVE)
  const sizes = [2, 20, 200, 2000]
  const trees: PrefixTree[] = []
  const open = async (i: number) => {
    const tree = await PrefixTree.create(device, SHAPES[i % 2]!)
    trees.push(tree)
    return tree
  }
  const grow = async (tree: PrefixTree, size: number) => {
    const { keys } = tree.stats()
    await insert(tree, keys, size - keys)
    if (tree.shape.structure === 'css') return
    // Partitions are made when they are asked for, and this strategy goes through lists of all of them.
    await reads(tree).get(numbers(0, 1), undefined, { strategy: 'speculative' })
  }
  // Scratch memory is found by the first of each kind.
  for (const [i] of SHAPES.entries()) {
    const tree = await open(i)
    for (const size of sizes) await grow(tree, size)
  }
  const isStocked = () =>
    device.pages.figures().filter(({ freeBytes }) => freeBytes >= RESERVE / 2).length === SORTS.length
  while (!isStocked()) await new Promise((resolve) => setTimeout(resolve, 20))
  const before = device.creations
  for (let i = 0; i < 100; i++) await open(i)
  for (const size of sizes) for (const tree of trees.slice(SHAPES.length)) await grow(tree, size)
  t.equal(device.creations, before)
  for (const tree of trees.slice(-2)) {
    t.equal(tree.derivedBytes > 0, tree.shape.structure === 'prefix', 'only prefix trees have partitions')
    const { payloads } = await reads(tree).get(numbers(0, 2000))
    t.same(payloads, numbers(0, 2000))
  }
  for (const tree of trees) tree.destroy()
  t.equal(takenBytes(device), 0)
})

/** Ten keys of a type. */
function tenKeys(keyType: (typeof KEY_TYPES)[number]): Column {
  if (keyType === 'u64') return { bytes: numbers(0, 10), width: 8 }
  if (keyType === 'u32') {
    return { bytes: asBytes(Uint32Array.from({ length: 10 }, (_, i) => i * 0x9e37_79b1)), width: 4 }
  }
  const texts = Array.from({ length: 10 }, (_, i) => Buffer.from(`user:${i}@example.com`))
  const offsets = new Uint32Array(11)
  for (const [i, { length }] of texts.entries()) offsets[i + 1] = offsets[i]! + length
  return { bytes: Buffer.concat(texts), offsets }
}

t.test('an index of ten keys takes little device memory', async (t) => {
  const device = await openDevice(t)
  for (const keyType of KEY_TYPES) {
    for (const structure of ['css', 'prefix'] as const) {
      const shape = shapeOf({ name: 'any', keyType, payloadKind: 'u64', unique: false, structure })
      const trees: PrefixTree[] = []
      const keys = tenKeys(keyType)
      for (let i = 0; i < 20; i++) {
        const tree = await PrefixTree.create(device, shape)
        trees.push(tree)
        const payloads = { bytes: numbers(0, 10), width: 8 }
        const prepared = await tree.prepare({ ops: WriteOp.insert, keys, payloads })
        prepared.apply()
        await tree.compactIfWorthwhile()
        const traversal = structure === 'prefix' ? ({ strategy: 'sequential' } as const) : undefined
        await tree.read({ op: 'get', traversal }, { keys })
      }
      const each = takenBytes(device) / trees.length
      // Ten thousand are to fit in 100 MiB.
      t.ok(each <= (100 * MEBI) / 10_000, `${structure} over ${keyType}: ${each} bytes`)
      t.equal(
        takenBytes(device),
        trees.reduce((sum, tree) => sum + tree.stats().deviceBytes, 0),
      )
      for (const tree of trees) tree.destroy()
    }
  }
})
