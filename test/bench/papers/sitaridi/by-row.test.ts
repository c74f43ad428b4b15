import t from 'tap'
import { measureByRow } from '../../../../bench/papers/sitaridi/by-row.js'
import { drawCharts } from '../../../../bench/papers/sitaridi/charts.js'
import { Primitives } from '../../../../gpu/primitives/primitives.js'
import { openDevice } from '../../../gpu/open-device.js'

// Every count is compared with a plain loop's before a time is taken.
t.test('plans that branch by row count the rows that pass, of tables that end within a tile', async (t) => {
  const device = await openDevice(t)
  const primitives = await Primitives.create(device)
  for (const rows of [1, 4095, 10_001]) {
    const setting = { device, primitives, rows, smallRows: rows, quick: true }
    const points = await measureByRow(setting, { repeats: 1, seconds: 0 })
    for (const { name, plans } of points) {
      t.equal(plans.length, 8, name)
      for (const { ms } of plans) t.ok(ms > 0)
    }
    t.same([...drawCharts('a device', points).keys()], ['select-figure-2-by-row.svg'])
  }
})
