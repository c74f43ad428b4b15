import t from 'tap'
import type { DueResult, IndexShape, IndexStructure, WriteBatch } from '../../../../gpu/index-structure.js'
import { aligned, type Column, columnOf, countOf, valueAt } from '../../../../protocol/columns.js'
import { type KeyType, keyWidth, WriteOp } from '../../../../protocol/types.js'
import { prefixTrees } from '../../../../src/engine/structures.js'
import { ModelStructure } from '../../../model-structure.js'
import { everyOther, Random, seedOfRun } from '../../../random.js'
import { openDevice } from '../../open-device.js'

const KEYS = 400
/** Its upper word is not 0, and its lower one is about to overflow. */
const START = 5 * 2 ** 32 - 500

const device = await openDevice(t)
const shapes: IndexShape[] = [
  { keyType: 'u32', payloadBytes: 12, unique: true, matchFrom: 2, structure: 'css' },
  { keyType: 'u64', payloadBytes: 13, unique: false, matchFrom: 2, structure: 'css' },
  { keyType: 'string', payloadBytes: 24, unique: true, matchFrom: 4, structure: 'css' },
  { keyType: 'u32', payloadBytes: 12, unique: false, matchFrom: 2, partitionLevels: 'auto' },
  { keyType: 'string', payloadBytes: 9, unique: false, matchFrom: 2, partitionLevels: 'auto' },
  { keyType: 'i32', payloadBytes: 16, unique: true, matchFrom: 2, layout: 'full', allocation: 'coalesced' },
]

function keyOf(type: KeyType, number: number): Uint8Array {
  if (type === 'string') return Buffer.from(`key ${number % 7} ${number}`)
  const width = keyWidth(type)!
  return Buffer.from(new Uint32Array(width === 8 ? [number, number] : [number]).buffer)
}

function randomBatch({ keyType, payloadBytes }: IndexShape, random: Random, now: number): WriteBatch {
  const count = random.pick([5, 300])
  const rows = Array.from({ length: count }, () => {
    const expiry = random.chance(0.2) ? 0 : now + random.below(1000) - 100
    const row = Buffer.alloc(payloadBytes, random.below(3))
    row.writeBigUInt64LE(BigInt(expiry))
    return row
  })
  const keys = Array.from({ length: count }, () => keyOf(keyType, random.below(KEYS)))
  return {
    ops: Uint8Array.from({ length: count }, () => random.below(WriteOp.deletePair + 1)),
    keys: columnOf(keys, keyWidth(keyType)),
    payloads: columnOf(rows, payloadBytes),
  }
}

/** What is due, in an order of its own. */
function listed({ keys, payloads }: DueResult): string[] {
  return Array.from({ length: countOf(keys) }, (_, i) =>
    [keys, payloads].map((column) => Buffer.from(valueAt(column, i)).toString('hex')).join(' '),
  ).sort()
}

/** All that there is, and when it expires. */
const timesOf = async (structure: IndexStructure) => {
  const request = { op: 'scan', ranges: 1, limit: 1 << 16, withExpireAt: true } as const
  const { keys, payloads, expireAt } = await structure.read(request, {})
  return [keys, payloads, expireAt!].map(({ bytes, width }) => [Buffer.from(bytes).toString('hex'), width])
}

const payloadsOf = async (structure: IndexStructure, keys: Column) => {
  const { payloads, offsets } = await structure.read({ op: 'getAll', limit: 1 << 20 }, { keys })
  return {
    payloads: Buffer.from(payloads.bytes).toString('hex'),
    width: payloads.width,
    offsets: [...offsets],
  }
}

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)

for (const given of everyOther(shapes, seed)) {
  const shape = { ...given, expires: true }
  const { keyType, unique, payloadBytes, structure = 'prefix' } = shape
  t.test(
    `${structure}, ${keyType}, ${unique ? 'unique' : 'not unique'}, ${payloadBytes} bytes`,
    async (t) => {
      const random = new Random(seed)
      const tree = await prefixTrees.create(device, shape)
      const model = new ModelStructure(shape)
      const write = async (batch: WriteBatch) => {
        for (const one of [tree, model]) {
          const prepared = await one.prepare(batch)
          prepared.apply()
        }
        await tree.compactIfWorthwhile({ inBackground: random.chance(0.5) })
      }
      const all = columnOf(
        Array.from({ length: KEYS }, (_, number) => keyOf(keyType, number)),
        keyWidth(keyType),
      )
      let now = START
      for (let step = 0; step < 25; step++) {
        await write(randomBatch(shape, random, now))
        now += random.below(100)
        const request = { op: 'due', until: now, limit: 1 << 16 } as const
        const [found, expected] = [await tree.read(request, {}), await model.read(request, {})]
        t.equal(found.due, expected.due)
        t.equal(found.next, expected.next)
        t.equal(found.later, expected.later)
        t.same(listed(found), listed(expected))
        const some = await tree.read({ ...request, limit: 3 }, {})
        t.equal(some.due, expected.due)
        t.equal(countOf(some.keys), Math.min(3, expected.due))
        if (random.chance(0.5)) {
          const due = { keys: found.keys, payloads: found.payloads }
          await write({ ops: WriteOp.deletePair, ...due, matchesWhole: true, goesOn: random.chance(0.5) })
          t.equal((await tree.read(request, {})).due, 0)
        }
        t.same(await payloadsOf(tree, all), await payloadsOf(model, all))
        t.same(await timesOf(tree), await timesOf(model))
        const first = await tree.read({ op: 'get' }, { keys: all })
        t.equal(first.payloads.bytes.byteLength, KEYS * (payloadBytes - 8))
        t.same(
          Buffer.from(first.payloads.bytes),
          Buffer.from((await model.read({ op: 'get' }, { keys: all })).payloads.bytes),
        )
      }
      await tree.background
      tree.destroy()
    },
  )
}

t.test('what is due in several shards', async (t) => {
  const shape: IndexShape = {
    ...{ keyType: 'u32', payloadBytes: 12, unique: true, matchFrom: 2, structure: 'css', expires: true },
  }
  const small = await openDevice(t)
  small.regionBytes = 2 ** 20
  const tree = await prefixTrees.create(small, shape)
  const rows = 200_000
  const keys = { bytes: new Uint8Array(Uint32Array.from({ length: rows }, (_, i) => i).buffer), width: 4 }
  const words = Uint32Array.from({ length: 3 * rows }, (_, i) =>
    i % 3 === 0 ? 1 + i / 3 : i % 3 === 1 ? 1 : i,
  )
  const payloads = { bytes: new Uint8Array(words.buffer), width: 12 }
  for (let row = 0; row < rows; row += 20_000) {
    const part = {
      keys: { ...keys, bytes: keys.bytes.subarray(4 * row, 4 * row + 80_000) },
      payloads: { ...payloads, bytes: payloads.bytes.subarray(12 * row, 12 * row + 240_000) },
    }
    const prepared = await tree.prepare({ ops: WriteOp.insert, ...part })
    prepared.apply()
  }
  t.ok(tree.stats().shards > 1)
  const until = 2 ** 32 + 100_000
  const { due, next, keys: found } = await tree.read({ op: 'due', until, limit: 1000 }, {})
  t.equal(due, 100_000)
  t.equal(next, 1)
  t.equal(countOf(found), 1000)
  t.ok(aligned(found.bytes, Uint32Array).every((key) => key < 100_000))
  const all = { op: 'scan', ranges: 1, limit: rows, withExpireAt: true } as const
  const { expireAt, payloads: scanned } = await tree.read(all, {})
  const times = aligned(expireAt!.bytes, BigUint64Array)
  t.equal(times.length, rows)
  t.ok(times.every((time, i) => time === BigInt(2 ** 32 + 1 + i)))
  t.ok(aligned(scanned.bytes, Uint32Array).every((word, i) => word === 3 * i + 2))
  tree.destroy()
})
