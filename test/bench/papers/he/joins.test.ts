import t from 'tap'
import { benchFigure14 } from '../../../../bench/papers/he/figure14.js'
import { JoinBench } from '../../../../bench/papers/he/join-bench.js'
import { benchSearchForms } from '../../../../bench/papers/he/search-forms.js'
import { benchTable3 } from '../../../../bench/papers/he/table3.js'
import { benchTable4, benchTable5 } from '../../../../bench/papers/he/table4.js'
import { benchTransfers } from '../../../../bench/papers/he/transfers.js'
import { benchBands, benchFigure13, benchSizes } from '../../../../bench/papers/he/varied.js'
import { Primitives } from '../../../../gpu/primitives/primitives.js'
import { QueryKernels } from '../../../../gpu/relational/query/query-kernels.js'
import { openDevice } from '../../../gpu/open-device.js'

// Each part compares what the device gives with the host's own before it takes a time, and throws where they differ.
t.test('figures and tables of joins are sound on a few rows', async (t) => {
  const device = await openDevice(t)
  const primitives = await Primitives.create(device)
  const bench = { device, primitives, logarithm: 11, quick: true }
  const joins = new JoinBench({ device, kernels: await QueryKernels.create(device, primitives) })
  const rows = {
    transfers: await benchTransfers(bench),
    table3: await benchTable3(bench),
    search: await benchSearchForms(bench),
    table4: (await benchTable4(joins, 512, 256)).filter(({ name }) => name.includes('⋈')),
    table5: await benchTable5(joins, 512, 256),
    figure13: await benchFigure13(joins, 512, 256),
    figure14: await benchFigure14(bench, joins),
    sizes: await benchSizes(joins, 512, 256),
    bands: await benchBands(joins, 256),
  }
  t.equal(rows.search.length, 3)
  t.equal(rows.table4.length, 2 + 3 + 1 + 3 + 2)
  t.equal(rows.table5.length, 4)
  t.equal(rows.figure13.length, 2 * 9)
  t.equal(rows.figure14.length, 2 * 2)
  t.equal(rows.sizes.length, 5 * 4)
  t.same(
    rows.bands.map(({ figures }) => Number(figures.pairs) > 0),
    [true, true, true, true],
  )
  for (const name of ['map', 'scatter', 'gather', 'prefix scan', 'split into 64', 'quicksort']) {
    const row = rows.table3.find((one) => one.name === `Table 3, ${name}, 2^11`)
    t.ok(Number(row?.figures['host ms']) > 0 && Number(row?.figures.ms) > 0, name)
  }
  for (const { name, figures } of Object.values(rows).flat()) {
    const unsound = Object.entries(figures).filter(
      ([, figure]) => typeof figure === 'number' && !(figure >= 0),
    )
    t.same(unsound, [], name)
  }
})
