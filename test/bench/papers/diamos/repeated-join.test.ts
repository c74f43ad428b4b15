import t from 'tap'
import {
  BLOCKINGS,
  fits,
  REPEATED_JOINS,
  RepeatedJoin,
  resultsOf,
  THREADS,
} from '../../../../bench/papers/diamos/repeated-join.js'
import { benchTable3 } from '../../../../bench/papers/diamos/table3.js'
import { Primitives } from '../../../../gpu/primitives/primitives.js'
import { openDevice } from '../../../gpu/open-device.js'
import { ONE_STRATEGY, randomWords, withEachStrategy } from '../../../gpu/primitives/bed.js'

const ROUNDS = 3
const GROUPS = 2

/** Sorted keys, of which many, few or none are equal, and which lie apart, between each other or on each other. */
function sides(count: number): (readonly [Uint32Array, Uint32Array])[] {
  const random = (seed: number, range: number) =>
    randomWords(seed, count)
      .map((word) => word % range)
      .sort()
  const even = Uint32Array.from({ length: count }, (_, i) => 2 * i)
  return [
    [random(1, 2 ** 32), random(2, 2 ** 32)],
    [random(3, count), random(4, count)],
    [random(5, 2 * count), random(6, 4 * count)],
    [even, even],
    [even, even.map((key) => key + 1)],
    [even, even.map((key) => key + count)],
    [even.map((key) => 2 ** 31 + key), even],
    [random(7, 3), random(8, 3)],
  ]
}

t.test('every repeated join finds what a plain loop finds, in workgroups of each shape', (t) =>
  withEachStrategy(
    t,
    async (t, run) => {
      for (const threads of THREADS) {
        for (const blocking of BLOCKINGS) {
          for (const algorithm of REPEATED_JOINS) {
            const shape = { threads, blocking }
            for (const [first, second] of sides(threads * blocking)) {
              let fitted = true
              const [digests] = await run(({ device, recorder, scratch, upload }) => {
                const found = scratch.words(GROUPS)
                fitted = fits(device, shape)
                recorder.clear(found)
                if (fitted) {
                  const join = new RepeatedJoin(device, algorithm, shape, true)
                  join.record(recorder, [upload(first), upload(second)], found, GROUPS, ROUNDS)
                }
                return [[found, GROUPS]]
              })
              if (!fitted) continue
              const wanted = Math.imul(ROUNDS, resultsOf(first, second, shape, true).digest) >>> 0
              t.same([...digests!], [wanted, wanted], `${algorithm}, ${threads} × ${blocking}`)
            }
          }
        }
      }
    },
    ONE_STRATEGY,
  ),
)

t.test('Table 3 has a row of each algorithm and shape', async (t) => {
  const device = await openDevice(t)
  const bench = { device, primitives: await Primitives.create(device), quick: true }
  const rows = await benchTable3(bench, 128)
  t.equal(rows.length, REPEATED_JOINS.length)
  for (const { name, figures } of rows) t.ok(Number(figures['with prefix sum, ns a result']) > 0, name)
})
