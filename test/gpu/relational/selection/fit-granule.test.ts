import t from 'tap'
import { fitGranule, touchedShare } from '../../../../gpu/relational/selection/fit-granule.js'

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
