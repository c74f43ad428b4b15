import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { Device } from '../../../gpu/device/device.js'
import { PrefixTree } from '../../../gpu/index/prefix-tree.js'
import type { IndexShape, IndexStructure, StructureImage } from '../../../gpu/index-structure.js'
import { HostCopies } from '../../../gpu/memory/host-copies.js'
import { WriteOp } from '../../../protocol/types.js'
import { Random, seedOfRun } from '../../random.js'
import { reads } from '../../reads.js'
import { prepareBatch } from '../../writes.js'
import { openDevice } from '../open-device.js'

const SHAPE = { keyType: 'u32', payloadBytes: 4, unique: false, matchFrom: 0 } as const
const KEYS = 20_000

const first = await openDevice(t)
const second = await openDevice(t)

/** An image as a whole. */
async function read({ meta, parts }: StructureImage) {
  const bytes = new Map<string, Buffer>()
  for (const { name, bytes: length, chunks } of parts) {
    const all: Uint8Array[] = []
    for await (const chunk of chunks) all.push(chunk.slice())
    bytes.set(name, Buffer.concat(all, length))
  }
  return { meta, bytes }
}

/** Brings an image back in such a way that it is not kept on the host. */
function restore(
  device: Device,
  { meta, bytes }: Awaited<ReturnType<typeof read>>,
  shape: IndexShape = SHAPE,
): Promise<PrefixTree> {
  const parts = [...bytes].map(([name, whole]) => ({
    name,
    bytes: whole.byteLength,
    chunks: new Set([whole]),
  }))
  return PrefixTree.restore(device, shape, { meta, parts })
}

async function write(tree: IndexStructure, random: Random, ops: WriteOp, count: number): Promise<void> {
  const column = () => new Uint8Array(Uint32Array.from({ length: count }, () => random.below(KEYS)).buffer)
  const prepared = await prepareBatch(tree, { ops, keys: column(), payloads: column() })
  prepared.apply()
}

async function randomTree(device: Device, random: Random): Promise<PrefixTree> {
  const tree = await PrefixTree.create(device, SHAPE)
  await write(tree, random, WriteOp.insert, KEYS)
  await write(tree, random, WriteOp.deleteKey, KEYS / 4)
  await write(tree, random, WriteOp.insert, KEYS / 2)
  return tree
}

t.test('an arena that one device wrote loads on another, byte for byte, and lives on there', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const tree = await randomTree(first, random)
  const image = await read(await tree.image())
  const moved = await restore(second, image)
  t.same(await read(await moved.image()), image)
  t.ok(moved.stats().deviceBytes <= tree.stats().deviceBytes)

  const same = new Random(seed + 1)
  await write(tree, same, WriteOp.replace, KEYS / 2)
  await write(moved, new Random(seed + 1), WriteOp.replace, KEYS / 2)
  const everything = { ranges: 1, limit: 2 * KEYS }
  t.same(await reads(moved).scan(everything), await reads(tree).scan(everything))
  t.same(await read(await moved.image()), await read(await tree.image()))
})

t.test('what came from the host is read back only where it was written to', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const image = await (await randomTree(first, new Random(seed))).image()
  const tree = await PrefixTree.restore(second, SHAPE, image)
  const other = await restore(second, await read(image))
  for (const each of [tree, other]) await reads(each).scan({ ranges: 1, limit: 2 * KEYS })
  t.same(
    (await tree.image()).parts.map(({ chunks }) => image.parts.some((part) => part.chunks === chunks)),
    image.parts.map(() => true),
  )
  t.ok(second.hostCopies.bytes > 0)
  for (const ops of [WriteOp.replace, WriteOp.insert, WriteOp.deleteKey, WriteOp.insert]) {
    for (const each of [tree, other]) await write(each, new Random(seed + ops), ops, 10)
    t.same(await read(await tree.image()), await read(await other.image()))
  }
  for (const each of [tree, other]) await each.compact()
  t.same(await read(await tree.image()), await read(await other.image()))
  for (const each of [tree, other]) each.destroy()
  t.equal(second.hostCopies.bytes, 0)
})

/** Its payloads are so long that few keys take several chunks on the host. */
const LONG = { keyType: 'u64', payloadBytes: 248, unique: true, matchFrom: 0 } as const
const LONG_KEYS = 40_000

async function writeLong(tree: IndexStructure, ops: WriteOp, first: number, count: number): Promise<void> {
  const keys = new Uint8Array(BigUint64Array.from({ length: count }, (_, i) => BigInt(first + i)).buffer)
  const bytes = new Uint8Array(LONG.payloadBytes * count).fill(1 + (ops % 100))
  const payloads = { bytes, width: LONG.payloadBytes }
  const prepared = await tree.prepare({ ops, keys: { bytes: keys, width: 8 }, payloads })
  prepared.apply()
}

t.test('of what came from the host only pages that have changed are read back', async (t) => {
  const made = await PrefixTree.create(first, LONG)
  await writeLong(made, WriteOp.insert, 0, LONG_KEYS)
  let image = await made.image()
  const other = await restore(first, await read(image), LONG)
  const bytes = image.parts.reduce((sum, part) => sum + part.bytes, 0)
  const changes = [
    [WriteOp.replace, 17, 1],
    [WriteOp.replace, LONG_KEYS - 3, 3],
    [WriteOp.deleteKey, LONG_KEYS / 2, 20],
    [WriteOp.insert, LONG_KEYS, 40],
  ] as const
  for (const [ops, at, count] of changes) {
    const tree = await PrefixTree.restore(second, LONG, image)
    for (const each of [tree, other]) await writeLong(each, ops, at, count)
    const before = second.hostCopies.readBytes
    image = await tree.image()
    const back = second.hostCopies.readBytes - before
    t.ok(back > 0 && back < bytes / 20, `${back} of ${bytes} bytes`)
    t.same(await read(image), await read(await other.image()))
    tree.destroy()
  }
  made.destroy()
  other.destroy()
})

t.test('what has moved since it came from the host has not changed', async (t) => {
  const device = await openDevice(t)
  const image = await (await randomTree(first, new Random(1))).image()
  const take = (bytes: number) => device.allocatePages('tree', bytes, 'gap')
  // All that follows has room in the slab of this one.
  take(2 ** 23).destroy()
  const gaps = [take(2 ** 19)]
  const tree = await PrefixTree.restore(device, SHAPE, image)
  gaps.push(take(2 ** 20))
  take(2 ** 20)
  const places = () => tree.runs.map(({ key }) => key)
  const before = places()
  for (const gap of gaps) gap.destroy()
  for (let i = 0; i < 1000 && isDeepStrictEqual(places(), before); i++) await setTimeout(1)
  t.notSame(places(), before)
  t.same(await read(await tree.image()), await read(image))
  t.equal(device.hostCopies.readBytes, 0)
  const other = await restore(first, await read(image))
  for (const each of [tree, other]) await write(each, new Random(2), WriteOp.replace, 10)
  t.same(await read(await tree.image()), await read(await other.image()))
})

t.test('copies on the host that came first go where there is no room for all', (t) => {
  const copies = new HostCopies(100)
  const dropped: number[] = []
  const all = [0, 1, 2].map((number) => ({ dropHostCopy: () => dropped.push(number) }))
  for (const copied of all) copies.keep(copied, 40)
  t.same(dropped, [0])
  copies.drop(all[1]!)
  t.equal(copies.bytes, 40)
  t.end()
})

t.test('a device whose bindings are too small refuses an arena, with the sizes', async (t) => {
  const small = await Device.open('auto', 256 * 1024)
  t.teardown(() => small.destroy())
  const tree = await randomTree(first, new Random(1))
  const image = await read(await tree.image())
  await t.rejects(restore(small, image), {
    code: 'OUT_OF_DEVICE_MEMORY',
    message: /would need \d{6} bytes in one piece; .* binds at most 262144/,
  })
})

t.test('what one structure may own bounds how an arena is made, grown and doubled', async (t) => {
  t.teardown(() => {
    second.structureBytes = Number.POSITIVE_INFINITY
  })
  const random = new Random(2)
  const tree = await randomTree(first, random)
  const image = await read(await tree.image())
  const bytes = [...image.bytes.values()].reduce((sum, { length }) => sum + length, 0)

  second.structureBytes = bytes - 1
  await t.rejects(restore(second, image), {
    code: 'OUT_OF_DEVICE_MEMORY',
    message: /would need \d+ bytes of device memory; one index may have at most \d+/,
  })
  second.structureBytes = 2 * bytes
  const copy = await restore(second, image)
  const room = copy.stats().deviceBytes
  for (;;) {
    try {
      await write(copy, random, WriteOp.insert, 1000)
    } catch (error) {
      t.match(error, { code: 'OUT_OF_DEVICE_MEMORY' })
      break
    }
    if (copy.stats().deviceBytes > 2 * bytes) t.fail('it has more than it may')
  }
  t.ok(copy.stats().deviceBytes > room)
  t.ok(copy.stats().usedBytes > 0.9 * 2 * bytes, 'all of it is used')
})
