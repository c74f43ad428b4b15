import fc from 'fast-check'
import t from 'tap'
import {
  anyFraction,
  anyLength,
  anySeed,
  check,
  LENGTHS,
  type Run,
  randomWords,
  same,
  withEachStrategy,
} from './bed.js'

const UNTOUCHED = 0xdeadbeef

/** Exclusive prefix sums modulo 2^32 with words past `live` taken as 0, and the sum behind them. */
function prefixSums(words: Uint32Array, live = words.length): Uint32Array {
  const sums = new Uint32Array(words.length + 1)
  for (let i = 0; i < words.length; i++) sums[i + 1] = sums[i]! + (i < live ? words[i]! : 0)
  return sums
}

function withSpace(words: Uint32Array, space: number): Uint32Array {
  const longer = new Uint32Array(words.length + space).fill(UNTOUCHED)
  longer.set(words)
  return longer
}

/** Scans into another buffer, and in place with the total behind the sums. */
async function scanBothWays(run: Run, words: Uint32Array): Promise<void> {
  const count = words.length
  const [sums, totals, inPlace] = await run(({ primitives, recorder, scratch, upload }) => {
    const output = upload(withSpace(new Uint32Array(count), 1))
    const totals = upload(new Uint32Array(3).fill(UNTOUCHED))
    primitives.scan(recorder, scratch, upload(words), output, count, { buffer: totals, index: 1 })
    const inPlace = upload(withSpace(words, 2))
    primitives.scan(recorder, scratch, inPlace, inPlace, count, { buffer: inPlace, index: count })
    return [
      [output, count + 1],
      [totals, 3],
      [inPlace, count + 2],
    ]
  })
  const wanted = prefixSums(words)
  same(sums!, withSpace(wanted.subarray(0, count), 1))
  same(totals!, [UNTOUCHED, wanted[count]!, UNTOUCHED])
  same(inPlace!, withSpace(wanted, 1))
}

t.test('sums of every length around a boundary', (t) =>
  withEachStrategy(t, async (_t, run) => {
    for (const count of LENGTHS) await scanBothWays(run, randomWords(count + 1, count))
  }),
)

t.test('sums of random lengths, into another buffer and in place', (t) =>
  withEachStrategy(t, (t, run) =>
    check(
      t,
      fc.record({ count: anyLength, seed: anySeed }),
      ({ count, seed }) => scanBothWays(run, randomWords(seed, count)),
      20,
    ),
  ),
)

t.test('three levels of tiles', (t) =>
  withEachStrategy(t, async (_t, run, strategy) => {
    const count = strategy === 'cooperative' ? 4096 ** 2 + 1 : 2 ** 20 + 1
    const words = randomWords(count, count)
    const [sums] = await run(({ primitives, recorder, scratch, upload }) => {
      const inPlace = upload(words)
      primitives.scan(recorder, scratch, inPlace, inPlace, count)
      return [[inPlace, count]]
    })
    same(sums!, prefixSums(words).subarray(0, count))
  }),
)

t.test('words past a count on the device are zeros, also where the total lies beside that count', (t) =>
  withEachStrategy(t, (t, run) =>
    check(
      t,
      fc.record({ count: anyLength, seed: anySeed, fraction: anyFraction }),
      async ({ count, seed, fraction }) => {
        const words = randomWords(seed, count)
        const live = Math.floor(count * fraction)
        const [sums, counts] = await run(({ primitives, recorder, scratch, upload }) => {
          const output = scratch.words(count)
          const counts = upload(Uint32Array.of(UNTOUCHED, live))
          const total = { buffer: counts, index: 0 }
          const deviceCount = { buffer: counts, index: 1 }
          primitives.scan(recorder, scratch, upload(words), output, count, total, deviceCount)
          return [
            [output, count],
            [counts, 2],
          ]
        })
        const wanted = prefixSums(words, live)
        same(sums!, wanted.subarray(0, count))
        same(counts!, [wanted[count]!, live])
      },
      20,
    ),
  ),
)
