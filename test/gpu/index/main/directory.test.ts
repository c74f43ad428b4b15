import t from 'tap'
import { PrefixTree } from '../../../../gpu/index/prefix-tree.js'
import type { IndexShape } from '../../../../gpu/index-structure.js'
import { WriteOp } from '../../../../protocol/types.js'
import { Random, seedOfRun } from '../../../random.js'
import { reads } from '../../../reads.js'
import { prepareBatch } from '../../../writes.js'
import { openDevice } from '../../open-device.js'

const U32: IndexShape = { keyType: 'u32', payloadBytes: 4, unique: false, matchFrom: 0, structure: 'css' }
const U64: IndexShape = { keyType: 'u64', payloadBytes: 8, unique: true, matchFrom: 0, structure: 'css' }

/** Keys whose ranges are cut into buckets in ways that could go wrong, by what is special about them. */
const SPREADS: Readonly<Record<string, (random: Random) => bigint[]>> = {
  'a dense run': () => count(3000, (i) => 1_000_000n + i),
  'a dense run up to the greatest key of 32 bits': () => count(3000, (i) => 0xffffffffn - i),
  'the least and the greatest of 32 bits, and a crowd': () => [
    0n,
    0xffffffffn,
    ...count(3000, (i) => 0x500n + i),
  ],
  'a crowd at each power of two': () =>
    count(31, (i) => 1n << i).flatMap((power) => count(90, (i) => power + i)),
  'random ones': (random) => count(5000, () => BigInt(random.below(2 ** 32))),
  'a range whose last buckets begin past all numbers': () => count(4000, (i) => 0x500n + i * 1_073_500n),
}
const WIDE_SPREADS: typeof SPREADS = {
  ...SPREADS,
  'the least and the greatest of 64 bits, and a crowd': () => [
    0n,
    2n ** 64n - 1n,
    ...count(3000, (i) => (1n << 40n) + i),
  ],
  'a range of more than 32 bits': (random) =>
    count(5000, () => (BigInt(random.below(2 ** 32)) << 32n) | BigInt(random.below(2 ** 32))),
  'equal high words': (random) => count(5000, () => (7n << 32n) | BigInt(random.below(2 ** 32))),
}

function count(number: number, key: (i: bigint) => bigint): bigint[] {
  return Array.from({ length: number }, (_, i) => key(BigInt(i)))
}

t.test('keys, and what lies beside them, are found whatever their spread', async (t) => {
  const device = await openDevice(t)
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  for (const [shape, spreads] of [[U32, SPREADS] as const, [U64, WIDE_SPREADS] as const]) {
    const top = shape.keyType === 'u32' ? 2n ** 32n - 1n : 2n ** 64n - 1n
    for (const [name, spread] of Object.entries(spreads)) {
      const keys = [...new Set(spread(random))].filter((key) => key <= top)
      const tree = await PrefixTree.create(device, shape)
      const prepared = await prepareBatch(tree, {
        ops: WriteOp.insert,
        keys: column(shape, keys),
        payloads: column(shape, keys),
      })
      prepared.apply()
      const beside = keys.flatMap((key) => [key + 1n, key - 1n]).filter((key) => key >= 0n && key <= top)
      const asked = [...keys, ...beside, 0n, top]
      const { found, payloads } = await reads(tree).get(column(shape, asked))
      const there = new Set(keys)
      const expected = asked.map((key) => (there.has(key) ? key : undefined))
      const answers = values(shape, payloads).map((value, i) => (bit(found, i) ? value : undefined))
      t.strictSame(answers, expected, `${shape.keyType}: ${name}`)
      tree.destroy()
    }
  }
})

function column({ keyType }: IndexShape, keys: readonly bigint[]): Uint8Array {
  const view = keyType === 'u32' ? Uint32Array.from(keys, Number) : BigUint64Array.from(keys)
  return new Uint8Array(view.buffer)
}

function values({ keyType }: IndexShape, bytes: Uint8Array): bigint[] {
  const copy = bytes.slice().buffer
  return keyType === 'u32' ? Array.from(new Uint32Array(copy), BigInt) : [...new BigUint64Array(copy)]
}

function bit(bits: Uint8Array, i: number): boolean {
  return (bits[i >> 3]! & (1 << (i & 7))) !== 0
}
