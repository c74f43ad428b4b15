import t from 'tap'
import { LogHistogram } from '../../../src/observe/log-histogram.js'
import { Random, seedOfRun } from '../../random.js'

t.test('numbers around the ends of buckets are counted where they belong', async (t) => {
  const values = [
    0,
    0.5,
    1,
    1.5,
    2,
    3,
    7,
    8,
    9,
    15,
    16,
    16.5,
    17,
    31,
    32,
    33,
    2 ** 20,
    2 ** 20 + 1,
    2 ** 31 - 1,
    2 ** 31,
  ]
  const histogram = new LogHistogram()
  for (const value of values) histogram.record(value)
  histogram.record(2 ** 40)
  t.equal(histogram.count, values.length + 1)
  for (let power = 0; power < 31; power++) {
    const expected = values.filter((value) => value <= 2 ** power).length
    t.equal(histogram.countUpTo(2 ** power), expected, `up to ${2 ** power}`)
  }
})

t.test('quantiles are those of the sorted numbers, at most an eighth too high', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  for (let round = 0; round < 20; round++) {
    const most = 2 ** random.below(31)
    const values = Array.from({ length: 1 + random.below(500) }, () => random.below(most) + 1)
    const histogram = new LogHistogram()
    for (const value of values) histogram.record(value)
    values.sort((one, other) => one - other)
    for (const share of [0, 0.25, 0.5, 0.9, 0.99, 1]) {
      const exact = values[Math.max(0, Math.ceil(share * values.length) - 1)]
      const quantile = histogram.quantile(share)
      t.ok(
        quantile >= exact && quantile <= Math.max(exact, exact * 1.125),
        `${share}: ${quantile} for ${exact}`,
      )
    }
    t.equal(
      histogram.sum,
      values.reduce((sum, value) => sum + value, 0),
    )
    histogram.clear()
    t.same([histogram.count, histogram.sum, histogram.quantile(0.5)], [0, 0, 0])
  }
})
