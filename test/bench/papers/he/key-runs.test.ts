import fc from 'fast-check'
import t from 'tap'
import { KeyRuns } from '../../../../bench/papers/he/key-runs.js'
import type { KeyWords } from '../../../../gpu/primitives/primitives.js'
import { SegmentedReduce } from '../../../../gpu/relational/segmented-reduce.js'
import { anySeed, check, randomWords, same, withBothForms } from '../../../gpu/primitives/bed.js'

const sum = (values: Uint32Array) => values.reduce((sum, value) => (sum + value) >>> 0, 0)

/** Starts of the runs of equal neighbours. */
function runStarts(keys: Uint32Array, keyWords: KeyWords): number[] {
  const count = keys.length / keyWords
  const key = (i: number) => keys.subarray(i * keyWords, (i + 1) * keyWords).join()
  return Array.from({ length: count }, (_, i) => i).filter((i) => i === 0 || key(i) !== key(i - 1))
}

t.test('runs of equal keys, and the sums of their values', (t) =>
  withBothForms(t, (t, run) =>
    check(
      t,
      fc.record({
        seed: anySeed,
        count: fc.constantFrom(0, 1, 255, 257, 4095, 4097, 10_000),
        keyWords: fc.constantFrom(1 as const, 2 as const),
        change: fc.constantFrom(1, 3, 100, 2 ** 31),
      }),
      async ({ seed, count, keyWords, change }) => {
        let key = 0
        const keys = randomWords(seed, count * keyWords)
          .map((word) => (word % change === 0 ? 1 : 0))
          .map((step) => {
            key += step
            return key
          })
        const values = randomWords(seed + 1, count)
        const [starts, runs, sums] = await run(async ({ device, primitives, recorder, scratch, upload }) => {
          const keyRuns = new KeyRuns(device, primitives, keyWords)
          const found = keyRuns.record(recorder, scratch, upload(keys), count)
          const sums = scratch.words(count)
          const reduce = new SegmentedReduce(device, primitives)
          reduce.record(recorder, scratch, upload(values), count, found, 'sum', sums)
          return [
            [found.starts, count],
            [found.deviceCount.buffer, 1],
            [sums, count],
          ]
        })
        const wanted = runStarts(keys, keyWords)
        same(runs!, [wanted.length])
        same(starts!.subarray(0, wanted.length), wanted)
        same(
          sums!.subarray(0, wanted.length),
          wanted.flatMap((start, i) => sum(values.subarray(start, wanted[i + 1] ?? count))),
        )
      },
      15,
    ),
  ),
)
