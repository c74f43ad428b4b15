import t from 'tap'
import { FIXED_KEY_TYPES } from '../../../../protocol/types.js'
import { keyOf } from '../../../fixed-keys.js'
import { openDevice } from '../../open-device.js'
import { queries, randomKeys, randomPayload, same, seeded, subjectOf } from './subject.js'

const PAYLOAD_BYTES = [4, 8, 16, 1, 7, 64]

const device = await openDevice(t)

t.test('get, getAll and count answer as the model does', async (t) => {
  const random = seeded(t)
  for (const keyType of FIXED_KEY_TYPES) {
    for (const unique of [true, false]) {
      const payloadBytes = random.pick(PAYLOAD_BYTES)
      const shape = { keyType, payloadBytes, unique, matchFrom: 0 }
      const subject = await subjectOf(device, shape, randomKeys(shape, random, 300), random)
      const { reader, arena, model } = subject
      for (const count of [1, 31, 700]) {
        const keys = queries(subject, random, count)
        const name = `${keyType} ${unique ? 'unique' : 'lists'} of ${payloadBytes} bytes, ${count} keys`
        same(t, await reader.get(arena, keys), await model.get(keys), `${name}: get`)
        same(t, await reader.count(arena, keys), await model.count(keys), `${name}: count`)
        const all = await model.getAll(keys, Infinity)
        const total = all.offsets.at(-1)!
        same(t, await reader.getAll(arena, keys, total + 1), all, `${name}: getAll`)
        if (total < 2) continue
        same(t, await reader.getAll(arena, keys, total), all, `${name}: getAll up to the limit`)
        await t.rejects(reader.getAll(arena, keys, total - 1), { code: 'TOO_LARGE' })
      }
      arena.destroy()
    }
  }
})

t.test('no keys, and keys of a tree without any', async (t) => {
  const shape = { keyType: 'u64', payloadBytes: 4, unique: false, matchFrom: 0 } as const
  const { reader, arena } = await subjectOf(device, shape, [], seeded(t))
  const none = new Uint8Array(0)
  same(t, await reader.get(arena, none), { found: none, payloads: none })
  same(t, await reader.getAll(arena, none, 1), { offsets: Uint32Array.of(0), payloads: none })
  same(t, await reader.count(arena, none), none)
  same(t, await reader.count(arena, new Uint8Array(8)), new Uint8Array(4))
  same(t, await reader.get(arena, new Uint8Array(8)), {
    found: new Uint8Array(1),
    payloads: new Uint8Array(4),
  })
})

t.test('more payloads than 32 bits can count are refused, not counted wrongly', async (t) => {
  const random = seeded(t)
  const shape = { keyType: 'u32', payloadBytes: 4, unique: false, matchFrom: 0 } as const
  const length = 1 << 16
  const entries = Array.from({ length }, (_, sequence) => ({
    sequence,
    payload: randomPayload(shape, random),
  }))
  const { reader, arena } = await subjectOf(device, shape, [{ rank: 7n, entries }], random)
  const keys = new Uint8Array(4 * (1 << 16))
  for (let i = 0; i < keys.length; i += 4) keys.set(keyOf('u32', 7n), i)
  await t.rejects(reader.getAll(arena, keys, 1 << 18), { code: 'TOO_LARGE' })
})

t.test('a read that was called sees the tree as it was, whatever happens to it afterwards', async (t) => {
  const random = seeded(t)
  const shape = { keyType: 'i64', payloadBytes: 7, unique: false, matchFrom: 0 } as const
  const subject = await subjectOf(device, shape, randomKeys(shape, random, 2000), random)
  const { reader, arena, model } = subject
  const keys = queries(subject, random, 5000)
  const everything = { ranges: 1, limit: 1 << 18 }
  const expected = await Promise.all([
    model.get(keys),
    model.getAll(keys, Infinity),
    model.count(keys),
    model.getNext({ keys }),
    model.scan(everything),
    model.scan(everything),
  ])
  const answers = Promise.all([
    reader.get(arena, keys),
    reader.getAll(arena, keys, expected[1].offsets.at(-1)!),
    reader.count(arena, keys),
    reader.getNext(arena, { keys }),
    reader.scan(arena, everything, 'walk'),
    reader.scan(arena, everything, 'breadth-first'),
  ])
  const recorder = device.record()
  for (const { buffer } of arena.regions.values()) recorder.clear(buffer)
  recorder.submit()
  arena.destroy()
  same(t, await answers, expected)
})
