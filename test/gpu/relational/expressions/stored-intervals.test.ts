import fc from 'fast-check'
import t from 'tap'
import { isEverything, storedIntervals } from '../../../../gpu/relational/expressions/stored-intervals.js'
import type { Interval } from '../../../../gpu/relational/expressions/value-sets.js'
import { ordered } from '../selection/model.js'

/** Bits that lie where something changes, and others. */
const anyWord = fc.oneof(
  fc.constantFrom(0, 1, 0x7f800000, 0x7f800001, 0x7fffffff, 0x80000000, 0x80000001, 0xff800000, 0xffffffff),
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
)

/** Intervals that do not touch, of any bounds. */
function intervalsOf(bounds: readonly bigint[]): Interval[] {
  const sorted = [...new Set(bounds)].sort((a, b) => (a < b ? -1 : Number(a > b)))
  const intervals: Interval[] = []
  for (let i = 0; i + 1 < sorted.length; i += 2) {
    const interval = { low: sorted[i]!, high: sorted[i + 1]! }
    if (intervals.length === 0 || intervals.at(-1)!.high + 1n < interval.low) intervals.push(interval)
  }
  return intervals
}

function wordIn(bits: number, intervals: readonly Interval[], type: 'u32' | 'i32' | 'f32'): boolean {
  const stored = storedIntervals(intervals, type)
  const word = type === 'f32' ? (bits ^ ((bits >> 31) | 0x80000000)) >>> 0 : bits
  const far = BigInt.asUintN(32, BigInt(word) - stored.lowest)
  return stored.intervals.some(({ low, high }) => BigInt.asUintN(32, far - low) <= high - low)
}

t.test('a word is in stored intervals if its value is in the set', (t) => {
  const values = { u32: Uint32Array, i32: Int32Array, f32: Float32Array }
  for (const type of ['u32', 'i32', 'f32'] as const) {
    fc.assert(
      fc.property(anyWord, fc.array(anyWord, { maxLength: 8 }), (bits, bounds) => {
        const value = new values[type](Uint32Array.of(bits).buffer)[0]!
        const place = ordered(type, value, [])
        const intervals = intervalsOf([...bounds.map(BigInt), place])
        const wanted = intervals.some(({ low, high }) => low <= place && place <= high)
        return wordIn(bits, intervals, type) === wanted
      }),
      { numRuns: 2000 },
    )
  }
  t.end()
})

t.test('all values', (t) => {
  const all = (bits: bigint) => [{ low: 0n, high: 2n ** bits - 1n }]
  for (const type of ['u32', 'i32', 'f32', 'string'] as const)
    t.ok(isEverything(storedIntervals(all(32n), type)))
  for (const type of ['u64', 'i64'] as const) t.ok(isEverything(storedIntervals(all(64n), type)))
  t.notOk(isEverything(storedIntervals(all(32n), 'u64')))
  t.notOk(isEverything(storedIntervals([], 'u32')))
  t.end()
})
