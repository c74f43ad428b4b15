import t from 'tap'
import { drawCharts } from '../../../../bench/papers/diamos/charts.js'
import { benchStages } from '../../../../bench/papers/diamos/stages.js'
import { Primitives } from '../../../../gpu/primitives/primitives.js'
import { openDevice } from '../../../gpu/open-device.js'

const DISTRIBUTIONS = 4

t.test('partitions hold all keys but those that were discarded, at two sizes', async (t) => {
  const device = await openDevice(t)
  const primitives = await Primitives.create(device)
  const setting = { device, primitives, effort: { repeats: 1, seconds: 0 } }
  const small = await benchStages(setting, 8)
  const large = await benchStages(setting, 10)
  const rows = [...small, ...large]
  t.equal(rows.length, 2 * 2 * DISTRIBUTIONS)
  for (const { name, figures } of rows) {
    t.ok(Number(figures.µs) > 0, name)
    const discarded = Number(figures['discarded %'])
    t.ok(discarded >= 0 && discarded <= 100, name)
    if (!name.startsWith('partition')) continue
    const count = 2 ** Number(name.split('^')[1])
    const held = Number(figures.pairs) * Number(figures.mean)
    t.ok(Math.abs(held - (1 - discarded / 100) * 2 * count) < 1e-6 * count, `${name}: ${held}`)
  }
  const charts = drawCharts('a device', rows)
  t.equal(charts.size, 3)
  for (const [file, chart] of charts) {
    t.notMatch(chart, /NaN|Infinity|undefined/, file)
    const drawn = [...chart.matchAll(/<(circle|path) /g)].length
    t.equal(drawn, 2 * DISTRIBUTIONS, `${file}: a point or a cross for each size and distribution`)
  }
})
