import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Device } from '../../../gpu/device/device.js'
import { DeviceFull } from '../../../gpu/device/device-full.js'
import type { StructureImage } from '../../../gpu/index-structure.js'
import { type IndexDefinition, WriteOp } from '../../../protocol/types.js'
import type { Engine, Index, StructureFactory } from '../../../src/engine/index.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { Random, seedOfRun } from '../../random.js'
import { reads } from '../../reads.js'
import { separateDevices } from '../../separate-devices.js'
import { writeTo } from '../../writes.js'
import { blobs, openEngine, u32, values } from './open-engine.js'

separateDevices()

const INDEXES = 16
const KEYS = 2000

const KINDS = [
  { keyType: 'u32', payloadKind: 'u32', unique: false },
  { keyType: 'u32', payloadKind: 'bytes', unique: true },
  { keyType: 'i64', payloadKind: 'u64', unique: true },
] as const
const DEFINITIONS = Array.from({ length: INDEXES }, (_, i): IndexDefinition => {
  return { name: `index ${i}`, ...KINDS[i % KINDS.length] }
})
const NUMBERS: IndexDefinition = { name: 'numbers', ...KINDS[0] }

let restores = 0

/** Trees that compare their image with the one that they were brought back from. For every second one that is not kept on the host, so that it comes from the device. */
const checkedTrees: StructureFactory = {
  ...prefixTrees,
  async restore(device, shape, given) {
    const isKept = restores++ % 2 === 0
    const parts = given.parts.map((part) => ({
      ...part,
      chunks: new Set(part.chunks as readonly Uint8Array[]),
    }))
    const structure = await prefixTrees.restore(device, shape, isKept ? given : { ...given, parts })
    const image = await structure.image()
    const [before, after] = [await bytesOf(given), await bytesOf(image)]
    const same = [...before].every(([name, bytes]) => after.get(name)?.equals(bytes))
    if (!same || JSON.stringify(image.meta) !== JSON.stringify(given.meta))
      throw new Error('the image has changed')
    return structure
  },
}

async function bytesOf(image: StructureImage): Promise<Map<string, Buffer>> {
  const bytes = new Map<string, Buffer>()
  for (const { name, chunks } of image.parts) {
    const all: Uint8Array[] = []
    for await (const chunk of chunks) all.push(chunk.slice())
    bytes.set(name, Buffer.concat(all))
  }
  return bytes
}

/** Keys out of few, so that they are met again. */
function keyColumn(random: Random, { keyType }: IndexDefinition, count: number): Uint8Array {
  const keys = Array.from({ length: count }, () => random.below(2 * KEYS))
  if (keyType === 'u32') return u32(...keys.map((key) => key * 40_503))
  return new Uint8Array(BigInt64Array.from(keys, (key) => BigInt(key - KEYS) * 0x1234_5678_9abn).buffer)
}

function randomWrite(random: Random, definition: IndexDefinition, count: number) {
  const ops = random.pick([WriteOp.insert, WriteOp.insert, WriteOp.replace, WriteOp.deleteKey])
  const keys = keyColumn(random, definition, count)
  const numbers = Array.from({ length: count }, () => random.below(100))
  if (definition.payloadKind === 'bytes') return { ops, keys, payloads: blobs(...numbers.map(String)) }
  const bytes =
    definition.payloadKind === 'u32'
      ? u32(...numbers)
      : new Uint8Array(BigUint64Array.from(numbers, BigInt).buffer)
  return { ops, keys, payloads: { bytes } }
}

/** One request at random, as a function so that it can be sent to several engines. */
function randomRequest(random: Random, definition: IndexDefinition): (engine: Engine) => Promise<unknown> {
  const { name } = definition
  const at = (run: (index: Index) => Promise<unknown>) => (engine: Engine) => run(engine.index(name))
  if (random.chance(0.4)) {
    const write = randomWrite(random, definition, random.pick([1, 20, 500]))
    return at((index) => writeTo(index, write))
  }
  const keys = keyColumn(random, definition, random.pick([1, 20, 500]))
  const reverse = random.chance(0.5)
  switch (random.below(6)) {
    case 0:
      return at((index) => reads(index).get(keys))
    case 1:
      return at((index) => reads(index).getAll(keys))
    case 2:
      return at((index) => reads(index).count(keys))
    case 3:
      return at((index) => reads(index).getNext({ keys, reverse }))
    case 4:
      return at((index) => reads(index).getFirst(keys))
    default: {
      const from = keyColumn(random, definition, 3)
      return at((index) =>
        reads(index).scan({ ranges: 3, from, to: undefined, tokens: undefined, limit: 50, reverse }),
      )
    }
  }
}

/** Data for which the device has a quarter of the memory, in an engine over trees and in one over models. */
async function openBoth(t: Test, random: Random) {
  const both = t.testdir({ trees: {}, models: {} })
  const directory = join(both, 'trees')
  const unlimited = await openEngine(t, { directory, structures: checkedTrees })
  const model = await openEngine(t, { directory: join(both, 'models') })
  for (const definition of DEFINITIONS) {
    const write = { ...randomWrite(random, definition, KEYS), ops: WriteOp.insert }
    for (const engine of [unlimited, model]) {
      await engine.createIndex(definition)
      await writeTo(engine.index(definition.name), write)
    }
  }
  const deviceMemory = Math.floor(unlimited.stats().server.deviceBytes / 4)
  await unlimited.close()
  const engine = await openEngine(t, { directory, structures: checkedTrees, deviceMemory })
  return { directory, engine, model, deviceMemory }
}

function hostBytesOf(indexes: ReturnType<Engine['stats']>['indexes']): number {
  return indexes.reduce((sum, { hostBytes }) => sum + Number(hostBytes), 0)
}

/** What is left to do after the last reply is done. */
async function atRest(engine: Engine, deviceMemory: number): Promise<number> {
  const { deviceBytes } = engine.stats().server
  if (deviceBytes <= deviceMemory) return deviceBytes
  await new Promise((resolve) => setTimeout(resolve, 1))
  return atRest(engine, deviceMemory)
}

t.test('tables that reads make for themselves count', async (t) => {
  const directory = t.testdir()
  const names = ['one', 'two']
  const keys = u32(...Array.from({ length: 2000 }, (_, i) => i * 40_503))
  const { calibrate: _, ...structures } = prefixTrees
  const unlimited = await openEngine(t, { directory, structures })
  for (const name of names) {
    await unlimited.createIndex({ ...NUMBERS, name, partitionLevels: 2 })
    await writeTo(unlimited.index(name), { ops: WriteOp.insert, keys, payloads: keys })
  }
  await unlimited.snapshot()
  const deviceMemory = unlimited.stats().server.deviceBytes
  await unlimited.close()
  const engine = await openEngine(t, { directory, structures, deviceMemory })
  const paged = () => engine.stats().indexes.filter(({ resident }) => !resident)
  t.equal(paged().length, 0)
  const traversal = { strategy: 'hierarchical', resolution: 'serial' } as const
  for (const name of names) {
    const { payloads } = await reads(engine.index(name)).get(keys, undefined, traversal)
    t.same(values(payloads), values(keys), name)
    await atRest(engine, deviceMemory)
  }
  t.ok(paged().length > 0)
})

t.test('four times the budget is in use', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const { directory, engine, model, deviceMemory } = await openBoth(t, random)

  await t.test('one request at a time', async (t) => {
    let most = 0
    let pagedOut = 0
    for (let i = 0; i < 200; i++) {
      const definition = random.pick(DEFINITIONS)
      const request = randomRequest(random, definition)
      const [ours, theirs] = [await request(engine), await request(model)]
      const { server } = engine.stats()
      most = Math.max(most, server.deviceBytes)
      pagedOut = Math.max(pagedOut, server.pagedOutIndexes)
      if (!same(ours, theirs)) t.fail(`request ${i} to ${definition.name} is answered otherwise`)
    }
    t.ok(most <= deviceMemory, `${most} bytes at most, ${deviceMemory} are allowed`)
    t.ok(pagedOut >= INDEXES / 2, `${pagedOut} indexes were paged out`)
  })

  await t.test('many at a time', async (t) => {
    for (let round = 0; round < 2; round++) {
      const requests = Array.from({ length: 50 }, () => randomRequest(random, random.pick(DEFINITIONS)))
      const ours = Promise.all(requests.map((request) => request(engine)))
      const theirs = Promise.all(requests.map((request) => request(model)))
      const [all, expected] = [await ours, await theirs]
      const wrong = all.findIndex((answer, i) => !same(answer, expected[i]))
      t.equal(wrong, -1, 'every answer equals the model')
      t.ok((await atRest(engine, deviceMemory)) <= deviceMemory)
    }
  })

  await t.test('figures, snapshots and drops of what is paged out', async (t) => {
    const { server, indexes } = engine.stats()
    const away = indexes.filter(({ resident }) => resident === false)
    t.equal(away.length, server.pagedOutIndexes)
    t.equal(hostBytesOf(away), server.pagedOutBytes)
    t.ok(away.every(({ deviceBytes, hostBytes, keys }) => deviceBytes === 0 && Number(hostBytes) > keys))
    t.equal(server.deviceLimitBytes, deviceMemory)
    t.equal(engine.list().length, INDEXES)
    // Behind a snapshot room of payloads of kind `bytes` is given back, for which the index has to come back.
    const [first, second] = away.filter(({ payloadKind }) => payloadKind !== 'bytes')
    await engine.snapshot(first.name)
    t.equal(engine.stats(first.name).indexes[0].resident, false, 'its snapshot is written from the host')
    t.equal(
      engine.stats(first.name).indexes[0].logPosition,
      engine.stats(first.name).indexes[0].snapshotPosition,
    )
    await Promise.all([engine, model].map((one) => one.dropIndex(second.name)))
    const left = engine.stats()
    t.notOk(left.indexes.some(({ name }) => name === second.name))
    t.equal(left.server.pagedOutBytes, hostBytesOf(left.indexes))
  })

  await t.test('a restart', async (t) => {
    await engine.close()
    const again = await openEngine(t, { directory, structures: checkedTrees, deviceMemory })
    t.ok(again.stats().server.deviceBytes <= deviceMemory)
    for (const { name } of again.list()) {
      const everything = { ranges: 1, from: undefined, to: undefined, tokens: undefined, limit: 100_000 }
      const [ours, theirs] = [
        await reads(again.index(name)).scan(everything),
        await reads(model.index(name)).scan(everything),
      ]
      t.ok(same(ours, theirs), name)
    }
  })
})

t.test('only pages that have changed go down again', async (t) => {
  const directory = t.testdir()
  const names = ['one', 'two'] as const
  const keys = u32(...Array.from({ length: 2 ** 16 }, (_, i) => Math.imul(i, 0x9e37_79b1) >>> 0))
  const unlimited = await openEngine(t, { directory, structures: prefixTrees })
  for (const name of names) {
    await unlimited.createIndex({ ...NUMBERS, name })
    await writeTo(unlimited.index(name), { ops: WriteOp.insert, keys, payloads: keys })
  }
  await unlimited.snapshot()
  const { deviceBytes } = unlimited.stats().server
  await unlimited.close()
  const engine = await openEngine(t, {
    directory,
    structures: prefixTrees,
    deviceMemory: Math.floor(0.75 * deviceBytes),
  })
  const first = u32(...values(keys).slice(0, 100))
  /** Bytes that leave the device when an index is used, which has no room beside the other one. */
  const use = async (name: (typeof names)[number]) => {
    const before = engine.stats().server.pageOutBytes
    const { payloads } = await reads(engine.index(name)).get(first)
    t.same(values(payloads), values(first))
    return engine.stats().server.pageOutBytes - before
  }
  // Each has been on the host once.
  await use('one')
  await use('two')
  const { hostBytes } = engine.stats('one').indexes[0]
  await use('one')
  t.ok(engine.stats().server.hostCopyBytes >= Number(hostBytes), 'its image stays there')
  await put(engine, 'one', [1, 2, 3], [10, 20, 30])
  const changed = await use('two')
  t.ok(changed > 0 && changed < Number(hostBytes) / 10, `${changed} of ${hostBytes} bytes`)
  t.equal(await use('one'), 0, 'nothing of one that was only read')
  t.same(values((await reads(engine.index('one')).get(u32(1, 2, 3))).payloads), [10, 20, 30])
})

t.test('what is paged out outlives its device', async (t) => {
  const devices: Device[] = []
  const restored: string[] = []
  const engine = await openEngine(t, {
    structures: {
      ...prefixTrees,
      restore: (device, ...rest) => {
        restored.push(devices.indexOf(device) === 1 ? 'second' : 'first')
        return prefixTrees.restore(device, ...rest)
      },
    },
    deviceMemory: 20_000,
    openDevice: async () => {
      const device = await Device.open('software')
      devices.push(device)
      return device
    },
  })
  const names = ['a', 'b', 'c', 'd']
  for (const [i, name] of names.entries()) {
    await engine.createIndex({ ...NUMBERS, name })
    await put(engine, name, [i], [10 * i])
  }
  t.ok(engine.stats().server.pagedOutIndexes >= 2)
  devices[0].gpu.destroy()
  await devices[0].lost
  const got = await Promise.all(names.map((name, i) => reads(engine.index(name)).get(u32(i))))
  t.same(
    got.map(({ payloads }) => values(payloads)),
    [[0], [10], [20], [30]],
  )
  t.ok(restored.length >= 2 && restored.every((device) => device === 'second'))
  t.equal(engine.index('c').id, 3)
})

t.test('an index that is larger than the budget is refused, with the sizes', async (t) => {
  const deviceMemory = 2 ** 20
  const directory = t.testdir()
  const engine = await openEngine(t, { directory, structures: prefixTrees, deviceMemory })
  await engine.createIndex(NUMBERS)
  await engine.createIndex({ ...NUMBERS, name: 'other' })
  await put(engine, 'other', [1], [1])
  const random = new Random(1)
  const keys = Array.from({ length: 60_000 }, () => random.word())
  await t.rejects(put(engine, 'numbers', keys, keys), {
    code: 'OUT_OF_DEVICE_MEMORY',
    message: /would need [1-9]\d{6} bytes of device memory; one index may have at most 1048576/,
  })
  t.equal(engine.stats('numbers').indexes[0].keys, 0)
  t.equal(engine.stats('other').indexes[0].resident, true, 'nobody was paged out for it')

  // It fills what there is, though its regions double as long as they can.
  let filled = 0
  const batch = 500
  for (;;) {
    const part = keys.slice(filled, filled + batch)
    try {
      await put(engine, 'numbers', part, part)
    } catch (error) {
      t.match(error, { code: 'OUT_OF_DEVICE_MEMORY' })
      break
    }
    filled += batch
  }
  const { usedBytes, deviceBytes, payloads } = engine.stats('numbers').indexes[0]
  t.equal(payloads, filled)
  t.ok(deviceBytes <= deviceMemory)
  t.ok(Number(usedBytes) > 0.9 * deviceMemory, `${usedBytes} bytes are used`)
  t.same(
    values((await reads(engine.index('numbers')).get(u32(...keys.slice(0, 100)))).payloads),
    keys.slice(0, 100),
  )
  t.same(values((await reads(engine.index('other')).get(u32(1))).payloads), [1])
  await engine.close()
  await t.rejects(openEngine(t, { directory, structures: prefixTrees, deviceMemory: deviceMemory / 2 }), {
    code: 'OUT_OF_DEVICE_MEMORY',
    message: /index "numbers" does not fit: .* at most 524288; allow it more \(--device-memory\)/,
  })
})

t.test('a device that runs out of memory gets some from idle indexes', async (t) => {
  const engine = await openEngine(t, {
    structures: checkedTrees,
    openDevice: async () => scarce(await Device.open('software'), 110_000),
  })
  const names = Array.from({ length: 8 }, (_, i) => `index ${i}`)
  const keys = Array.from({ length: 1000 }, (_, i) => i * 40_503)
  for (const name of names) {
    await engine.createIndex({ ...NUMBERS, name })
    await put(engine, name, keys, keys)
  }
  t.ok(engine.stats().server.pagedOutIndexes > 0)
  for (const name of names)
    t.same(values((await reads(engine.index(name)).get(u32(...keys))).payloads), keys, name)
  await engine.snapshot()
})

/** A device on which structures find so many bytes of memory. */
function scarce(device: Device, bytes: number): Device {
  const { pages } = device
  const [allocatePages, resizePages] = [device.allocatePages.bind(device), device.resizePages.bind(device)]
  const left = () => pages.figures().reduce((sum, slabs) => sum - slabs.bytes + slabs.freeBytes, bytes)
  const refuse = (size: number, label: string) => {
    if (size > left()) throw new DeviceFull(`the device has no room for ${size} bytes of ${label}`)
  }
  device.allocatePages = (sort, size, label) => {
    refuse(size, label)
    return allocatePages(sort, size, label)
  }
  device.resizePages = (run, size, used) => {
    refuse(size - run.size, run.label)
    resizePages(run, size, used)
  }
  return device
}

function put(engine: Engine, name: string, keys: number[], payloads: number[]): Promise<Uint8Array> {
  const columns = { keys: u32(...keys), payloads: u32(...payloads) }
  return writeTo(engine.index(name), { ops: WriteOp.insert, ...columns })
}

/** Whether two answers have the same columns, but for sequence numbers, which models give otherwise. */
function same(one: unknown, other: unknown): boolean {
  if (ArrayBuffer.isView(one) && ArrayBuffer.isView(other)) {
    return Buffer.compare(bufferOf(one), bufferOf(other)) === 0
  }
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null)
    return one === other
  const [ours, theirs] = [Object.entries(one), new Map(Object.entries(other))]
  return (
    ours.length === theirs.size &&
    ours.every(([name, value]) => name === 'sequences' || name === 'tokens' || same(value, theirs.get(name)))
  )
}

function bufferOf(view: ArrayBufferView): Buffer {
  return Buffer.from(view.buffer, view.byteOffset, view.byteLength)
}
