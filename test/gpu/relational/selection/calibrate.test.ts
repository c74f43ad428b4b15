import t from 'tap'
import { calibrateSelections } from '../../../../gpu/relational/selection/calibrate.js'
import { asSelectionCosts } from '../../../../protocol/query/selection-costs.js'
import { openDevice } from '../../open-device.js'

/** Large enough for every measurement to run, and for nothing else. */
const SMALL = { rows: 2 ** 12, repeats: 1, words: 3, wide: 2 }

t.test('measures a device, and may be stopped', async (t) => {
  const device = await openDevice(t)
  const costs = await calibrateSelections(device, undefined, SMALL)
  t.same(asSelectionCosts(JSON.parse(JSON.stringify(costs))), costs, 'they can be stored')
  const { rates, scan, granule, workgroup } = costs
  t.equal(rates.word.length, SMALL.words)
  t.equal(rates.wide.length, SMALL.wide)
  t.equal(rates.word[0], 1)
  t.ok(granule >= 1)
  t.ok(scan.word >= 0 && scan.wide >= 0 && workgroup > 0)

  const stop = new AbortController()
  const stopped = calibrateSelections(device, stop.signal, SMALL)
  stop.abort(new Error('enough'))
  await t.rejects(stopped, { message: 'enough' })
})
