import t from 'tap'
import { benchFigure14 } from '../../../../bench/papers/he/figure14.js'
import { JoinBench } from '../../../../bench/papers/he/join-bench.js'
import { benchSearchForms } from '../../../../bench/papers/he/search-forms.js'
import { benchTable3 } from '../../../../bench/papers/he/table3.js'
import { benchTable4, benchTable5 } from '../../../../bench/papers/he/table4.js'
import { benchTransfers } from '../../../../bench/papers/he/transfers.js'
import { benchBands, benchFigure13, benchSizes } from '../../../../bench/papers/he/varied.js'
import type { Row } from '../../../../bench/report.js'
import { Primitives } from '../../../../gpu/primitives/primitives.js'
import { QueryKernels } from '../../../../gpu/relational/query/query-kernels.js'
import { openDevice } from '../../../gpu/open-device.js'
import { everyOther, seedOfRun } from '../../../random.js'

// Each part compares what the device gives with the host's own before it takes a time, and throws where they differ.
t.test('figures and tables of joins are sound on a few rows', async (t) => {
  const device = await openDevice(t)
  const primitives = await Primitives.create(device)
  const bench = { device, primitives, logarithm: 11, quick: true }
  const joins = new JoinBench({ device, kernels: await QueryKernels.create(device, primitives) })
  const parts: readonly (readonly [string, () => Promise<readonly Row[]>, rows: number | undefined])[] = [
    ['transfers', () => benchTransfers(bench), undefined],
    ['table 3', () => benchTable3(bench), undefined],
    ['forms of searches', () => benchSearchForms(bench), 3],
    [
      'table 4',
      async () => (await benchTable4(joins, 512, 256)).filter(({ name }) => name.includes('⋈')),
      11,
    ],
    ['table 5', () => benchTable5(joins, 512, 256), 4],
    ['figure 13', () => benchFigure13(joins, 512, 256), 2 * 9],
    ['figure 14', () => benchFigure14(bench, joins), 2 * 2],
    ['sizes', () => benchSizes(joins, 512, 256), 5 * 4],
    ['bands', () => benchBands(joins, 256), 4],
  ]
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const all: Row[] = []
  for (const [name, measure, count] of everyOther(parts, seed)) {
    const rows = await measure()
    if (count !== undefined) t.equal(rows.length, count, name)
    if (name === 'bands') t.ok(rows.every(({ figures }) => Number(figures.pairs) > 0))
    if (name === 'table 3') {
      for (const primitive of ['map', 'scatter', 'gather', 'prefix scan', 'split into 64', 'quicksort']) {
        const row = rows.find((one) => one.name === `Table 3, ${primitive}, 2^11`)
        t.ok(Number(row?.figures['host ms']) > 0 && Number(row?.figures.ms) > 0, primitive)
      }
    }
    all.push(...rows)
  }
  for (const { name, figures } of all) {
    const unsound = Object.entries(figures).filter(
      ([, figure]) => typeof figure === 'number' && !(figure >= 0),
    )
    t.same(unsound, [], name)
  }
})
