import t from 'tap'
import { leadingBits } from '../../../gpu/primitives/primitives.js'
import { Random, seedOfRun } from '../../random.js'
import { type Run, same, withBothForms } from './bed.js'

/** Pairs of the longest tie that is settled; `leading-sort.wesl` has the same number. */
const MOST_TIED = 64

/** u64 keys of given leading numbers and random bits below them. */
function keysOf(leading: readonly number[], firstBit: number, random: Random): BigUint64Array {
  return BigUint64Array.from(
    leading,
    (number) =>
      (BigInt(number) << BigInt(firstBit)) | (BigInt(random.word()) & ((1n << BigInt(firstBit)) - 1n)),
  )
}

/** Sorts by position; undefined where the device says that it could not. */
async function sorted(run: Run, keys: BigUint64Array, firstBit: number): Promise<Uint32Array | undefined> {
  const count = keys.length
  const [order, sortedKeys, flags] = await run(async ({ primitives, recorder, scratch, upload }) => {
    const flags = upload(new Uint32Array(2))
    const sort = primitives.leadingSort()
    const input = upload(new Uint32Array(keys.buffer, 0, 2 * count))
    const unsettled = { buffer: flags, index: 1 }
    const pairs = sort.record(recorder, scratch, input, undefined, count, firstBit, unsettled)
    return [
      [pairs.values, count],
      [pairs.keys, 2 * count],
      [flags, 2],
    ]
  })
  if (flags![1] !== 0) return undefined
  const ordered = BigUint64Array.from(order!, (position) => keys[position]!)
  same(sortedKeys!, new Uint32Array(ordered.buffer))
  return order
}

function stableOrder(keys: BigUint64Array): Uint32Array {
  const compare = (a: number, b: number) => (keys[a]! < keys[b]! ? -1 : keys[a]! > keys[b]! ? 1 : a - b)
  return Uint32Array.from(keys, (_, i) => i).sort(compare)
}

t.test('ties of leading bits are settled by the rest, and equal keys stay in their order', (t) =>
  withBothForms(t, async (t, run) => {
    const seed = seedOfRun()
    t.comment(`TEST_SEED=${seed}`)
    const random = new Random(seed)
    for (const firstBit of [0, 8, 24, 32]) {
      for (const count of [1, 2, 255, 256, 257, 5000]) {
        const leading = Array.from({ length: count }, () => random.below(Math.ceil(count / 2)))
        const keys = keysOf(leading, firstBit, random)
        for (let i = 1; i < count; i += 10) keys[i] = keys[i - 1]!
        same((await sorted(run, keys, firstBit))!, stableOrder(keys))
      }
    }
  }),
)

t.test('ties that are too long, and bits above the leading ones, are noticed', (t) =>
  withBothForms(t, async (t, run) => {
    const random = new Random(7)
    for (const [tied, settles] of [
      [MOST_TIED, true],
      [MOST_TIED + 1, false],
    ] as const) {
      for (const first of [0, 300]) {
        const leading = Array.from({ length: 1000 }, (_, i) => (i >= first && i < first + tied ? 5 : i + 10))
        const order = await sorted(run, keysOf(leading, 24, random), 24)
        t.equal(order !== undefined, settles, `${tied} pairs from ${first}`)
      }
    }
    const keys = BigUint64Array.from(
      { length: 1000 },
      (_, i) => BigInt(random.word()) | (i === 500 ? 1n << 40n : 0n),
    )
    t.equal(await sorted(run, keys, 0), undefined)
  }),
)

t.test('a sample says which bits tell keys apart', (t) => {
  const random = new Random(11)
  const bits = (key: (i: number) => bigint, count = 2 ** 16) =>
    leadingBits(new Uint8Array(BigUint64Array.from({ length: count }, (_, i) => key(i)).buffer))
  const word = () => BigInt(random.word())
  t.equal(
    bits(() => (word() << 32n) | word()),
    32,
  )
  t.equal(bits(word), 0)
  t.equal(
    bits((i) => BigInt(i)),
    0,
  )
  t.equal(
    bits((i) => 0xabcdn * 2n ** 48n + BigInt(i) * 2n ** 24n + (word() & 0xffffffn)),
    8,
  )
  t.equal(
    bits((i) => BigInt(i % 3) * 2n ** 60n + word()),
    undefined,
  )
  t.equal(
    bits((i) => BigInt(i), 2 ** 16 - 1),
    undefined,
  )
  t.end()
})
