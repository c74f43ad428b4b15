import t from 'tap'
import { fitGranule, rising, touchedShare } from '../../../../gpu/relational/selection/fits.js'
import { Random, seedOfRun } from '../../../random.js'

const SHARES = [1 / 256, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1]

t.test('the granule that scans were made with is found', async (t) => {
  for (const granule of [1, 4, 8, 16, 32, 200]) {
    const scans = SHARES.map((selectivity) => ({
      selectivity,
      nanoseconds: 3 + 2 * touchedShare(granule, selectivity),
    }))
    const found = fitGranule(scans)
    t.ok(Math.abs(found / granule - 1) < 0.05, `${granule}: ${found}`)
    const uneven = scans.map(({ selectivity, nanoseconds }, i) => ({
      selectivity,
      nanoseconds: nanoseconds * (i % 2 === 0 ? 1.01 : 0.99),
    }))
    const near = fitGranule(uneven)
    t.ok(near > granule / 2 && near < granule * 2, `${granule} within one percent: ${near}`)
  }
})

t.test('what cannot be is no reason to fail', async (t) => {
  const flat = SHARES.map((selectivity) => ({ selectivity, nanoseconds: 5 }))
  const falling = SHARES.map((selectivity) => ({ selectivity, nanoseconds: 5 - selectivity }))
  for (const scans of [flat, falling, []]) {
    const rows = fitGranule(scans)
    t.ok(rows >= 1 && rows <= 256, `${rows}`)
  }
})

const SEED = seedOfRun()

t.test('what falls is levelled, and nothing else changes', async (t) => {
  t.strictSame(rising([]), [])
  t.strictSame(rising([1, 2, 2, 5]), [1, 2, 2, 5])
  t.strictSame(rising([1, 4, 2, 5]), [1, 3, 3, 5])
  t.strictSame(rising([3, 2, 1]), [2, 2, 2])
  t.strictSame(rising([1, 5, 4, 0]), [1, 3, 3, 3])
})

t.test('no other values that rise are nearer', async (t) => {
  const random = new Random(SEED)
  const error = (values: readonly number[], near: readonly number[]) =>
    values.reduce((sum, value, i) => sum + (value - near[i]!) ** 2, 0)
  for (let round = 0; round < 100; round++) {
    const values = Array.from({ length: 4 }, () => random.below(5))
    const nearest = rising(values)
    t.ok(
      nearest.every((value, i) => i === 0 || value >= nearest[i - 1]!),
      `seed ${SEED}`,
    )
    const best = error(values, nearest)
    const isNearest = risingGrid.every((other) => error(values, other) >= best - 1e-9)
    t.ok(isNearest, `seed ${SEED}: ${values}`)
  }
})

/** All that rise in steps of a half. */
const risingGrid: readonly (readonly number[])[] = grid(4, 0)

function grid(length: number, least: number): number[][] {
  if (length === 0) return [[]]
  const values = Array.from({ length: 9 - 2 * least }, (_, i) => least + i / 2)
  return values.flatMap((value) => grid(length - 1, value).map((rest) => [value, ...rest]))
}
