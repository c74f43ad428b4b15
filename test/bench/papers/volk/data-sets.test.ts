import t from 'tap'
import type { KeyBlob } from '../../../../bench/keys.js'
import { DATA_SETS, keyLengths, sliceKeys } from '../../../../bench/papers/volk/data-sets.js'

const COUNT = 100_000

function texts({ offsets, bytes }: KeyBlob): string[] {
  const all = Buffer.from(bytes).toString('latin1')
  return Array.from({ length: offsets.length - 1 }, (_, i) => all.slice(offsets[i], offsets[i + 1]))
}

t.test('keys are distinct, printable, and the same for every count', async (t) => {
  for (const { name, keys } of Object.values(DATA_SETS)) {
    const all = texts(keys(COUNT))
    t.equal(new Set(all).size, COUNT, name)
    t.ok(
      all.every((key) => /^[ -~]+$/.test(key)),
      name,
    )
    t.same(texts(keys(100)), all.slice(0, 100), name)
  }
})

t.test('they have the lengths and the heads of the paper', async (t) => {
  const { a, b, c } = DATA_SETS
  t.same(keyLengths(a.keys(COUNT)), { average: 128, longest: 128 })
  t.same(keyLengths(b.keys(COUNT)), { average: 128, longest: 128 })
  const { average, longest } = keyLengths(c.keys(COUNT))
  t.comment(`addresses: ${average} on average, ${longest} at most`)
  t.ok(Math.abs(average - 60) < 1)
  t.equal(longest, 147)
  const heads = (keys: KeyBlob, length: number) =>
    new Set(texts(keys).map((key) => key.slice(0, length))).size
  t.ok(heads(a.keys(COUNT), 8) > 0.99 * COUNT)
  t.equal(heads(b.keys(COUNT), 125), 1)
  t.equal(heads(c.keys(COUNT), 31), 1)
})

t.test('counted keys ascend', async (t) => {
  const counted = texts(DATA_SETS.b.keys(COUNT))
  t.ok(counted.every((key, i) => i === 0 || counted[i - 1]! < key))
})

t.test('a slice has its own offsets', async (t) => {
  const keys = DATA_SETS.c.keys(50)
  t.same(texts(sliceKeys(keys, 10, 20)), texts(keys).slice(10, 20))
  t.equal(sliceKeys(keys, 10, 20).offsets[0], 0)
})
