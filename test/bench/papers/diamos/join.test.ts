import t from 'tap'
import { CTA_JOINS, type CtaJoin, Join } from '../../../../bench/papers/diamos/join.js'
import { ONE_STRATEGY, type Run, same, withEachStrategy } from '../../../gpu/primitives/bed.js'
import { type HostTuples, joined, pairsOfTuples, randomTuples, upload } from './model.js'

async function check(run: Run, algorithm: CtaJoin, first: HostTuples, second: HostTuples): Promise<void> {
  const wanted = joined(first, second)
  const results = wanted.keys.length
  const [keys, payloads] = await run((bed) => {
    const join = new Join(bed.device, bed.primitives, algorithm)
    const found = join.record(bed.recorder, bed.scratch, upload(bed, first), upload(bed, second), results)
    return [
      [found.keys, results],
      [found.payloads, 2 * results],
    ]
  })
  same(keys!, wanted.keys)
  same(payloads!, wanted.payloads)
}

t.test('every CTA join finds what a plain loop finds', (t) =>
  withEachStrategy(
    t,
    async (_t, run) => {
      for (const algorithm of CTA_JOINS) {
        for (const [first, second] of pairsOfTuples()) await check(run, algorithm, first, second)
      }
    },
    ONE_STRATEGY,
  ),
)

t.test('relations of every length around a boundary', (t) =>
  withEachStrategy(
    t,
    async (_t, run) => {
      for (const count of [1, 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049]) {
        for (const other of [1, count, 3000]) {
          const first = randomTuples(count, count, 2000)
          await check(run, 'network', first, randomTuples(count + other, other, 2000))
        }
      }
    },
    ONE_STRATEGY,
  ),
)
