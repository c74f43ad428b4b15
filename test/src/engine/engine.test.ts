import t from 'tap'
import { Device } from '../../../gpu/device/device.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { type IndexDefinition, ResultCode, WriteOp } from '../../../protocol/types.js'
import type { Index } from '../../../src/engine/index.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { modelStructures } from '../../model-structure.js'
import { reads } from '../../reads.js'
import { separateDevices } from '../../separate-devices.js'
import { writeTo } from '../../writes.js'
import { blobs, openEngine, texts, u32, values } from './open-engine.js'

separateDevices()

const numbers: IndexDefinition = { name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false }
const unique: IndexDefinition = { ...numbers, name: 'unique', unique: true }
const cities: IndexDefinition = { name: 'cities', keyType: 'u32', payloadKind: 'bytes', unique: false }
const { inserted, replaced, exists, deleted, notFound } = ResultCode

const put = (index: Index, keys: number[], payloads: number[], ops: WriteOp | Uint8Array = WriteOp.insert) =>
  writeTo(index, { ops, keys: u32(...keys), payloads: u32(...payloads) })
const putTexts = (index: Index, keys: number[], payloads: string[], ops: WriteOp = WriteOp.insert) =>
  writeTo(index, { ops, keys: u32(...keys), payloads: blobs(...payloads) })
const remove = (index: Index, ...keys: number[]) =>
  writeTo(index, { ops: WriteOp.deleteKey, keys: u32(...keys), payloads: undefined })
const everything = { ranges: 1, from: undefined, to: undefined, tokens: undefined, limit: 100 }

t.test('every operation on an index with payloads on the device', async (t) => {
  const engine = await openEngine(t)
  t.equal(await engine.createIndex(numbers), true)
  const index = engine.index('numbers')
  t.same([...(await put(index, [5, 3, 5], [50, 30, 51]))], [inserted, inserted, inserted])
  const { found, payloads } = await reads(index).get(u32(3, 4, 5))
  t.equal(found[0], 0b101)
  t.same(values(payloads), [30, 0, 50])
  const all = await reads(index).getAll(u32(5, 3))
  t.same([...all.offsets], [0, 2, 3])
  t.same(values(all.payloads), [50, 51, 30])
  t.same(values(await reads(index).count(u32(3, 4, 5))), [1, 0, 2])
  const scan = await reads(index).scan({ ...everything, limit: 2 })
  t.same([values(scan.keys), values(scan.payloads), [...scan.more]], [[3, 5], [30, 50], [1]])
  const rest = await reads(index).scan({ ...everything, tokens: scan.tokens })
  t.same([values(rest.keys), values(rest.payloads), [...rest.more]], [[5], [51], [0]])
  const next = await reads(index).getNext({ keys: u32(3), reverse: false })
  t.same([values(next.keys), values(next.payloads)], [[5], [50]])
  const ops = Uint8Array.of(WriteOp.deletePair, WriteOp.deleteKey, WriteOp.insertIfAbsent, WriteOp.replace)
  t.same([...(await put(index, [5, 9, 3, 3], [50, 0, 1, 31], ops))], [deleted, notFound, exists, replaced])
  t.same(values((await reads(index).getAll(u32(5, 3))).payloads), [51, 31])
  t.same([...(await remove(index, 5, 5))], [deleted, notFound])
  t.same([...(await put(index, [], []))], [])
})

t.test('payloads of kind bytes', async (t) => {
  const engine = await openEngine(t)
  await engine.createIndex(cities)
  const index = engine.index('cities')
  await putTexts(index, [1, 2, 2], ['Rome', '', 'Paris'])
  t.same([...(await putTexts(index, [1, 3], ['Milan', 'Oslo'], WriteOp.insertIfAbsent))], [exists, inserted])
  const got = await reads(index).get(u32(3, 4, 1))
  t.equal(got.found[0], 0b101)
  t.same(texts(got), ['Oslo', '', 'Rome'])
  t.same(texts(await reads(index).getAll(u32(2, 3))), ['', 'Paris', 'Oslo'])
  t.same(texts(await reads(index).scan({ ...everything, reverse: true })), ['Oslo', 'Paris', '', 'Rome'])
  t.same(texts(await reads(index).getNext({ keys: u32(1, 3) })), ['', ''])
  t.same([...(await putTexts(index, [2, 2], ['London', 'Paris'], WriteOp.deletePair))], [notFound, deleted])
  t.same(texts(await reads(index).getAll(u32(2))), [''])
  t.same([...(await remove(index, 2))], [deleted])
  t.equal(engine.stats('cities').indexes[0].payloads, 2)
})

t.test('a scan returns fewer entries where their payloads would not fit into a reply', async (t) => {
  const engine = await openEngine(t)
  await engine.createIndex(cities)
  const index = engine.index('cities')
  const large = 'x'.repeat(2 ** 20)
  for (let key = 0; key < 40; key += 10) {
    const keys = Array.from({ length: 10 }, (_, i) => key + i)
    await putTexts(
      index,
      keys,
      keys.map(() => large),
    )
  }
  const first = await reads(index).scan(everything)
  t.equal(first.keys.byteLength / 4, 32)
  t.same([...first.more], [1])
  const second = await reads(index).scan({ ...everything, tokens: first.tokens })
  t.same([values(second.keys).at(0), values(second.keys).at(-1), [...second.more]], [32, 39, [0]])
  t.equal((await reads(index).getAll(first.keys)).payloads.byteLength, 32 * 2 ** 20)
  await t.rejects(reads(index).getAll(u32(...Array.from({ length: 40 }, (_, i) => i))), { code: 'TOO_LARGE' })
})

t.test('writes are seen by what comes after them, also when nobody waits', async (t) => {
  const engine = await openEngine(t)
  await engine.createIndex(unique)
  const index = engine.index('unique')
  const results = await Promise.all([
    reads(index).count(u32(1)),
    put(index, [1], [10]),
    put(index, [1, 2], [11, 20]),
    reads(index).get(u32(1, 2)),
    remove(index, 1),
    put(index, [1], [12]),
    reads(index).get(u32(1, 2)),
  ])
  t.same(values(results[0]), [0])
  t.same([...results[1]], [inserted])
  t.same([...results[2]], [exists, inserted])
  t.same(values(results[3].payloads), [10, 20])
  t.same([...results[4]], [deleted])
  t.same([...results[5]], [inserted])
  t.same(values(results[6].payloads), [12, 20])
  t.ok(Number(engine.stats('unique').indexes[0].logRecords) < 4, 'writes that wait share log records')
})

t.test('a write with an id is applied once', async (t) => {
  const directory = t.testdir()
  const first = await openEngine(t, { directory })
  await first.createIndex(numbers)
  await first.createIndex(unique)
  const write = (index: Index, number: number, key: number) => {
    const columns = { ops: WriteOp.insert, keys: u32(key), payloads: u32(1) }
    return writeTo(index, columns, { client: 'me', number })
  }
  const index = first.index('numbers')
  // The first three share a batch or wait for each other; the last comes when all is done.
  const codes = await Promise.all([write(index, 7, 1), write(index, 7, 1), write(index, 8, 1)])
  t.same(
    codes.map(([code]) => code),
    [inserted, inserted, inserted],
  )
  t.same([...(await write(index, 7, 1))], [inserted])
  t.same(values(await reads(index).count(u32(1))), [2])
  await t.rejects(write(first.index('unique'), 7, 1), { code: 'BAD_REQUEST' })
  await first.close()
  const second = await openEngine(t, { directory })
  t.same([...(await write(second.index('numbers'), 8, 1))], [inserted])
  t.same(values(await reads(second.index('numbers')).count(u32(1))), [2])
})

t.test('a write that the device has no room for fails alone', async (t) => {
  let full = false
  const engine = await openEngine(t, {
    structures: {
      ...modelStructures,
      create: async (device, shape) => {
        const structure = await modelStructures.create(device, shape)
        const prepare = structure.prepare.bind(structure)
        structure.prepare = async (batch) => {
          if (full && batch.keys.bytes.byteLength > 8) throw new WarpdexError('OUT_OF_DEVICE_MEMORY', 'full')
          return prepare(batch)
        }
        return structure
      },
    },
  })
  await engine.createIndex(numbers)
  const index = engine.index('numbers')
  full = true
  const settled = await Promise.allSettled([
    put(index, [1], [1]),
    put(index, [2], [2]),
    put(index, [3, 4, 5], [3, 4, 5]),
    put(index, [6], [6]),
  ])
  t.same(
    settled.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  )
  t.same(values((await reads(index).scan(everything)).keys), [1, 2, 6])
})

t.test('what was cancelled before its turn is dropped', async (t) => {
  const engine = await openEngine(t)
  await engine.createIndex(numbers)
  const index = engine.index('numbers')
  const cancelled = { cancelled: true }
  await t.rejects(reads(index, cancelled).get(u32(1)), { code: 'CANCELLED' })
  const columns = { ops: WriteOp.insert, keys: u32(1), payloads: u32(1) }
  await t.rejects(writeTo(index, columns, undefined, cancelled), { code: 'CANCELLED' })
  t.same(values(await reads(index).count(u32(1))), [0])
})

t.test('restarts, with and without snapshots, bring everything back', async (t) => {
  const directory = t.testdir()
  let engine = await openEngine(t, { directory })
  await engine.createIndex(cities)
  const write = async (from: number) => {
    for (let key = from; key < from + 20; key++)
      await putTexts(engine.index('cities'), [key], [`city ${key}`])
    await remove(engine.index('cities'), from)
  }
  const reopen = async () => {
    await engine.close()
    engine = await openEngine(t, { directory })
  }
  const expected: string[] = []
  for (const from of [0, 100, 200, 300]) {
    await write(from)
    for (let key = from + 1; key < from + 20; key++) expected.push(`city ${key}`)
    if (from > 0) {
      const [{ index, position }] = await engine.snapshot()
      t.match({ index, position }, { index: 'cities', position: 21 * (from / 100 + 1) })
      t.same(await engine.snapshot('cities'), await engine.snapshot(), 'nothing new, no new snapshot')
    }
    await reopen()
    t.same(texts(await reads(engine.index('cities')).scan(everything)), expected)
  }
  const { logRecords, snapshotPosition } = engine.stats('cities').indexes[0]
  t.match({ logRecords, snapshotPosition }, { logRecords: 21, snapshotPosition: 84 })
})

t.test(
  'a token inside the payloads of a key goes on after a restart where it would have before',
  async (t) => {
    const directory = t.testdir()
    const structures = prefixTrees
    let engine = await openEngine(t, { directory, structures })
    await engine.createIndex(numbers)
    const index = engine.index('numbers')
    await put(index, [7, 7], [1, 2])
    await put(index, [7], [1], WriteOp.deletePair)
    await put(index, [7, 7], [3, 4])
    const { tokens, payloads } = await reads(index).scan({ ...everything, limit: 1 })
    t.same(values(payloads), [2])
    for (const when of ['before', 'after']) {
      const rest = await reads(engine.index('numbers')).scan({ ...everything, tokens })
      t.same(values(rest.payloads), [3, 4], when)
      await engine.close()
      engine = await openEngine(t, { directory, structures })
    }
  },
)

t.test('a snapshot is taken when enough was logged', async (t) => {
  const engine = await openEngine(t, { snapshotLogBytes: 1000 })
  await engine.createIndex(numbers)
  const index = engine.index('numbers')
  for (let key = 0; key < 100; key++) await put(index, [key], [key])
  await engine.snapshot()
  t.ok(Number(engine.stats('numbers').indexes[0].logRecords) < 60, 'the log was trimmed')
})

t.test('indexes are created, listed, dropped and created again', async (t) => {
  const engine = await openEngine(t)
  const created = engine.createIndex(numbers)
  t.same([...(await put(engine.index('numbers'), [1], [1]))], [inserted], 'requests wait for the creation')
  t.equal(await created, true)
  await t.rejects(engine.createIndex(numbers), { code: 'INDEX_EXISTS' })
  t.equal(await engine.createIndex(numbers, { ifNotExists: true }), false)
  await t.rejects(engine.createIndex({ ...numbers, unique: true }, { ifNotExists: true }), {
    code: 'INDEX_EXISTS',
  })
  await engine.createIndex(unique)
  const css = { structure: 'css' } as const
  t.same(engine.list(), [
    { ...numbers, ...css },
    { ...unique, ...css },
  ])
  const old = engine.index('numbers')
  const counted = reads(old).count(u32(1))
  const dropped = engine.dropIndex('numbers')
  const again = engine.createIndex({ ...numbers, keyType: 'i32' })
  t.same(values(await counted), [1])
  t.equal(await dropped, true)
  t.equal(await again, true)
  await t.rejects(reads(old).count(u32(1)), { code: 'UNKNOWN_INDEX' })
  t.same(values(await reads(engine.index('numbers')).count(u32(1))), [0])
  await engine.dropIndex('numbers')
  t.equal(await engine.dropIndex('numbers', { ifExists: true }), false)
  await t.rejects(engine.dropIndex('numbers'), { code: 'UNKNOWN_INDEX' })
  t.throws(() => engine.index('numbers'), { code: 'UNKNOWN_INDEX' })
  t.throws(() => engine.stats('numbers'), { code: 'UNKNOWN_INDEX' })
})

t.test('a lost device is replaced, and the indexes are rebuilt from the store', async (t) => {
  const devices: Device[] = []
  const warnings: string[] = []
  const engine = await openEngine(t, {
    openDevice: async () => {
      const device = await Device.open('software')
      devices.push(device)
      return device
    },
    onWarning: (message) => warnings.push(message),
  })
  await engine.createIndex(cities)
  await putTexts(engine.index('cities'), [1], ['Rome'])
  devices[0].gpu.destroy()
  await devices[0].lost
  t.same(texts(await reads(engine.index('cities')).get(u32(1))), ['Rome'])
  t.equal(devices.length, 2)
  t.match(warnings.join(), /was lost.*rebuilt/)
  await putTexts(engine.index('cities'), [2], ['Oslo'])
  t.same(texts(await reads(engine.index('cities')).get(u32(2))), ['Oslo'])
})

t.test('where there is no other device, requests say so', async (t) => {
  const directory = t.testdir()
  const device = await Device.open('software')
  let opened = 0
  const engine = await openEngine(t, {
    directory,
    openDevice: async () => {
      if (opened++ > 0) throw new Error('none left')
      return device
    },
  })
  await engine.createIndex(numbers)
  device.gpu.destroy()
  await device.lost
  await t.rejects(reads(engine.index('numbers')).count(u32(1)), { code: 'DEVICE_LOST', message: /none left/ })
  await t.rejects(engine.createIndex(unique), { code: 'DEVICE_LOST' })
  await t.rejects(put(engine.index('numbers'), [1], [1]), { code: 'DEVICE_LOST' })
  t.same(engine.list(), [{ ...numbers, structure: 'css' }])
  t.equal(await engine.dropIndex('numbers'), true)
  await engine.close()
  t.same((await openEngine(t, { directory })).list(), [], 'what was dropped stays dropped')
})

t.test('closing answers what runs and refuses what comes', async (t) => {
  const engine = await openEngine(t)
  await engine.createIndex(numbers)
  const index = engine.index('numbers')
  const running = [put(index, [1], [1]), reads(index).count(u32(1))]
  const closed = engine.close()
  t.equal(engine.close(), closed)
  await t.rejects(reads(index).count(u32(1)), { code: 'SHUTTING_DOWN' })
  await t.rejects(put(index, [1], [1]), { code: 'SHUTTING_DOWN' })
  await t.rejects(engine.createIndex(unique), { code: 'SHUTTING_DOWN' })
  t.throws(() => engine.index('numbers'), { code: 'SHUTTING_DOWN' })
  t.same(
    (await Promise.all(running)).map((column) => column[0]),
    [inserted, 1],
  )
  await closed
})
