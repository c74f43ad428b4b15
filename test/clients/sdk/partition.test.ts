import { readFileSync } from 'node:fs'
import t from 'tap'
import loadWabt from 'wabt'
import { joinReplies } from '../../../clients/sdk/cluster/items.js'
import { BINARY } from '../../../clients/sdk/cluster/partition-binary.js'
import { Placement } from '../../../clients/sdk/cluster/placement.js'
import type { Reply } from '../../../clients/sdk/reply.js'
import { asBytes, KEY_ARRAYS } from '../../../protocol/columns.js'
import type { FixedKeyType } from '../../../protocol/types.js'
import { Random, seedOfRun } from '../../random.js'

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)

/** Keys of which many are equal, next to each other, or at the ends of their type. */
const VALUES: Readonly<Record<FixedKeyType, (n: number) => number | bigint>> = {
  u32: (n) => [0, 2 ** 32 - 1, 2 ** 31, n][n % 4]!,
  i32: (n) => [-(2 ** 31), 2 ** 31 - 1, -n, n][n % 4]!,
  f32: (n) => [-n / 4, n, Number.POSITIVE_INFINITY, -Number.POSITIVE_INFINITY][n % 4]!,
  u64: (n) => [0n, 2n ** 64n - 1n, 2n ** 63n, BigInt(n) << 31n][n % 4]!,
  i64: (n) => [-(2n ** 63n), 2n ** 63n - 1n, BigInt(-n), BigInt(n) << 32n][n % 4]!,
  f64: (n) => [-n / 4, n, 1e300, -1e300][n % 4]!,
}

t.test('the binary is that of the text', async (t) => {
  const wabt = await loadWabt()
  const text = readFileSync('clients/sdk/cluster/partition.wat', 'utf8')
  const { buffer } = wabt.parseWat('partition.wat', text, { simd: true }).toBinary({})
  t.equal(BINARY, Buffer.from(buffer).toString('base64'), 'made by "npm run assemble"')
})

t.test('items are cut by ranges of keys, and values come back in their places', async (t) => {
  const random = new Random(seed)
  for (const keyType of Object.keys(VALUES) as FixedKeyType[]) {
    for (const count of [1, 7, 255, 256, 259, 1021]) {
      const numbers = Array.from({ length: count }, () => VALUES[keyType](random.below(400)))
      const sorted = [...new Set(numbers)].sort((a, b) => (a < b ? -1 : 1))
      const starts = sorted.filter(() => random.below(sorted.length) < 4)
      const columnOf = (values: readonly (number | bigint)[]) =>
        asBytes((KEY_ARRAYS[keyType] as unknown as Uint32ArrayConstructor).from(values as number[]))
      const hexOf = (start: number | bigint) => Buffer.from(columnOf([start])).toString('hex')
      const placement = new Placement({
        ...{ name: 'index', keyType, payloadKind: 'u32', unique: true },
        placement: [{ set: 0 }, ...starts.map((start, i) => ({ set: i + 1, from: hexOf(start) }))],
      })
      const keys = columnOf(numbers)
      const width = keys.length / count
      const items = placement.itemsOf({ bytes: keys, width })
      const rangeOf = (key: number | bigint) => starts.filter((start) => key >= start).length
      const wanted = Array.from({ length: starts.length + 1 }, (_, range) =>
        numbers.flatMap((key, i) => (rangeOf(key) === range ? i : [])),
      )
      const what = `${count} keys of type ${keyType} in ${wanted.length} ranges`
      t.same(
        items.map((own) => [...own.numbers]),
        wanted,
        what,
      )
      for (const { numbers: own, keys: copied } of items)
        if (copied !== undefined)
          t.ok(Buffer.from(copied.bytes).equals(columnOf([...own].map((i) => numbers[i]!))), what)
      const parts = items.map(({ numbers: own }) => {
        const bytes = Uint8Array.from([...own].flatMap((i) => [...keys.subarray(i * width, (i + 1) * width)]))
        const found = new Uint8Array(Math.ceil(own.length / 8))
        own.forEach((item, i) => {
          if (item % 3 > 0 || count % 2 === 0) found[i >> 3]! |= 1 << (i & 7)
        })
        const columns = { found: { type: 'bytes', bytes: found }, payloads: { type: keyType, bytes } }
        return { numbers: own, reply: { fields: {}, sections: new Map(), columns } as unknown as Reply }
      })
      const { payloads, found } = joinReplies(parts, count).columns
      t.ok(Buffer.from(payloads!.bytes).equals(keys), `${what} again`)
      const bits = Array.from({ length: count }, (_, i) => (found!.bytes[i >> 3]! >> (i & 7)) & 1)
      t.same(
        bits,
        bits.map((_, i) => Number(i % 3 > 0 || count % 2 === 0)),
        what,
      )
    }
  }
})
