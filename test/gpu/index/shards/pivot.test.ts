import t from 'tap'
import { pivotOf } from '../../../../gpu/index/shards/pivot.js'
import { asBytes, columnFrom, columnOf, type KeyArray } from '../../../../protocol/columns.js'
import type { KeyType } from '../../../../protocol/types.js'

function pivotIn(keyType: KeyType, keys: KeyArray, numbers = Uint32Array.from(keys.keys())): number[] {
  const pivot = pivotOf(keyType, columnFrom(asBytes(keys), keys.BYTES_PER_ELEMENT), numbers)
  const bytes = asBytes(keys)
  return Array.from(keys.keys()).filter(
    (i) => pivot && Buffer.compare(pivot, bytes.subarray(i * pivot.length, (i + 1) * pivot.length)) === 0,
  )
}

t.test('the middle of the keys, in the order of their type', async (t) => {
  t.strictSame(pivotIn('u32', Uint32Array.of(1, 2 ** 31, 5, 4)), [2])
  t.strictSame(pivotIn('i32', Int32Array.of(3, -2, 5, -9)), [0])
  t.strictSame(pivotIn('f32', Float32Array.of(-0.5, -7, -1, 2)), [0])
  t.strictSame(pivotIn('u64', BigUint64Array.of(1n, 2n ** 63n, 5n, 4n)), [2])
  t.strictSame(pivotIn('i64', BigInt64Array.of(3n, -2n, 5n, -9n)), [0])
  t.strictSame(pivotIn('f64', Float64Array.of(-0.5, -7, -1, 2)), [0])
  const strings = columnOf(['b', 'abc', 'ab', 'c'].map((key) => Buffer.from(key)))
  t.strictSame(Buffer.from(pivotOf('string', strings, Uint32Array.of(0, 1, 2, 3)) ?? []).toString(), 'b')
})

t.test('only of the keys that are asked for', async (t) => {
  t.strictSame(pivotIn('u32', Uint32Array.of(9, 1, 8, 2, 7, 3), Uint32Array.of(1, 3, 5)), [3])
})

t.test('a key that has lesser ones before it', async (t) => {
  t.strictSame(pivotIn('u32', Uint32Array.of(1, 1, 1, 1, 1, 9)), [5])
  t.strictSame(pivotIn('u32', Uint32Array.of(9, 9, 9, 9, 9, 1)), [0, 1, 2, 3, 4])
})

t.test('none among equal keys, or such that are no numbers', async (t) => {
  t.strictSame(pivotIn('u32', Uint32Array.of(4, 4, 4)), [])
  t.strictSame(pivotIn('u32', new Uint32Array(0)), [])
  t.strictSame(pivotIn('f32', Float32Array.of(NaN, NaN, NaN)), [])
  t.strictSame(pivotIn('f64', Float64Array.of(0, -0, NaN)), [])
})

t.test('about the middle of very many', async (t) => {
  const keys = Uint32Array.from({ length: 100_000 }, (_, i) => (i * 7919) % 100_000)
  const [found] = pivotIn('u32', keys)
  t.ok(keys[found!]! > 35_000 && keys[found!]! < 65_000, `${keys[found!]}`)
})
