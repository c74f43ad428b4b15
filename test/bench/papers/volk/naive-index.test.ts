import t, { type Test } from 'tap'
import { NaiveIndex } from '../../../../bench/papers/volk/naive-index.js'
import { columnOf, makeKeys } from '../../../gpu/keys/bed.js'
import { openDevice } from '../../../gpu/open-device.js'
import { Random, seedOfRun } from '../../../random.js'

const device = await openDevice(t)

/** Compares a get with a map from each key to its number. */
async function check(t: Test, keys: readonly Uint8Array[], sought: readonly Uint8Array[]): Promise<void> {
  const model = new Map(keys.map((key, i) => [Buffer.from(key).toString('hex'), i]))
  const column = columnOf(keys)
  const index = await NaiveIndex.create(device, column.bytes, column.offsets)
  const queries = columnOf(sought)
  const { found, numbers } = await index.get(queries.bytes, queries.offsets)
  const answers = sought.map((_, i) => ((found[i >> 3]! >> (i & 7)) & 1 ? numbers[i] : undefined))
  t.same(
    answers,
    sought.map((key) => model.get(Buffer.from(key).toString('hex'))),
  )
  index.destroy()
}

/** Without those that come again. */
function distinct(keys: readonly Uint8Array[]): Uint8Array[] {
  return [...new Map(keys.map((key) => [Buffer.from(key).toString('hex'), key])).values()]
}

t.test('keys of every shape, in one matrix and in several, some there and some not', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const shapes = ['random16', 'extremes', 'anyLength', 'chain', 'shared', 'groups', 'branches']
  for (const count of [1, 2, 511, 512, 513, 1500]) {
    const all = distinct(makeKeys(random.pick(shapes), random.below(2 ** 31), 2 * count))
    const keys = all.slice(0, Math.ceil(all.length / 2))
    const sought = Array.from({ length: 300 }, () => random.pick(all))
    await t.test(`${keys.length} keys`, (t) => check(t, keys, sought))
  }
})

t.test('keys that are like others but for a zero, an end or a length', async (t) => {
  const texts = ['', '\0', '\0\0', 'a', 'a\0', 'ab', 'abcd', 'abcd\0', 'abcde', 'a'.repeat(147)]
  const all = texts.map((text) => Buffer.from(text))
  for (const absent of all.keys()) {
    const keys = all.filter((_, i) => i !== absent)
    await check(t, keys, all)
  }
})

t.test('a batch that is cut into several dispatches on a CPU', async (t) => {
  const count = 20_000
  const key = (number: number) => Buffer.from(Uint32Array.of(number | 0x01000000).buffer)
  const { bytes, offsets } = columnOf(Array.from({ length: count }, (_, i) => key(i)))
  const index = await NaiveIndex.create(device, bytes, offsets)
  const sought = Array.from({ length: 300 }, (_, i) => (i * 271) % (2 * count))
  const queries = columnOf(sought.map(key))
  const { numbers } = await index.get(queries.bytes, queries.offsets)
  t.same(
    [...numbers],
    sought.map((number) => (number < count ? number : 0)),
  )
  index.destroy()
})
