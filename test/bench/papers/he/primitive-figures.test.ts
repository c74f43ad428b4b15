import t from 'tap'
import { benchAccessOrder } from '../../../../bench/papers/he/access-order.js'
import { drawPrimitiveCharts } from '../../../../bench/papers/he/primitive-charts.js'
import { benchStringSorts } from '../../../../bench/papers/he/string-sorts.js'
import { benchThreadCounts } from '../../../../bench/papers/he/thread-counts.js'
import { benchWorkgroupMemory } from '../../../../bench/papers/he/workgroup-memory.js'
import { Primitives } from '../../../../gpu/primitives/primitives.js'
import { openDevice } from '../../../gpu/open-device.js'

// Each part compares what the device gives with the host's own before it takes a time, and throws where they differ.
t.test('figures of primitives are sound on columns of a few words', async (t) => {
  const device = await openDevice(t)
  const primitives = await Primitives.create(device)
  const bench = { device, primitives, logarithm: 11, quick: true }
  const rows = {
    access: await benchAccessOrder(bench),
    threads: await benchThreadCounts(bench),
    memory: await benchWorkgroupMemory(bench, ['serial', 'cooperative']),
    strings: await benchStringSorts(bench),
  }
  t.equal(rows.access.length, 2 + 3)
  t.equal(rows.threads.filter(({ name }) => name.startsWith('Figure 8')).length, 2)
  t.ok(rows.threads.some(({ name }) => name.startsWith('Figure 9, map')))
  t.ok(rows.threads.some(({ name }) => name.startsWith('Figure 9, split')))
  t.equal(rows.memory.length, 1 + 5 + 1)
  t.equal(rows.strings.length, 2 * 2)
  const figures = Object.values(rows).flatMap((some) => some.flatMap((row) => Object.entries(row.figures)))
  t.same(
    figures.filter(([, value]) => typeof value === 'number' && !(Number.isFinite(value) && value > 0)),
    [],
  )
  const charts = drawPrimitiveCharts('a device', Object.values(rows).flat())
  t.same(
    [...charts.keys()],
    [
      'joins-access.svg',
      'joins-workgroups.svg',
      'joins-invocations.svg',
      'joins-memory.svg',
      'joins-strings.svg',
    ],
  )
  for (const [file, chart] of charts) t.notMatch(chart, /NaN|Infinity|undefined/, file)
})
