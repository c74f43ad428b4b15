import t from 'tap'
import { calibrate } from '../../../../gpu/prefix-tree/locate/calibration.js'
import { estimate, type Situation } from '../../../../gpu/prefix-tree/locate/traversal-costs.js'
import { PrefixTree } from '../../../../gpu/prefix-tree/prefix-tree.js'
import { TRAVERSALS } from '../../../../protocol/traversal.js'
import { WriteOp } from '../../../../protocol/types.js'
import { openDevice } from '../../open-device.js'

const FEW: Situation = {
  batch: 1,
  digits: 256,
  meanDigits: 256,
  path: 256,
  meanPath: 256,
  levels: 16,
  bands: 16,
  partitions: 1000,
  nodeBytes: 2 ** 24,
}

t.test('measures a device, after which trees choose by themselves', async (t) => {
  const device = await openDevice(t)
  const costs = await calibrate(device)
  const estimates = estimate(costs, FEW)
  t.equal(estimates.length, TRAVERSALS.length)
  t.ok(estimates.every(({ microseconds }) => Number.isFinite(microseconds) && microseconds > 0))
  const times = estimates.map(({ microseconds }) => microseconds)
  t.same(
    times,
    times.toSorted((one, other) => one - other),
    'cheapest first',
  )
  // Of an adapter on which every step takes the same; what this one takes depends on what else it does.
  const even = Object.fromEntries(Object.keys(costs).map((name) => [name, 1]))
  const many = estimate(even, { ...FEW, batch: 2 ** 20 })
  t.match(
    many[0]?.strategy,
    /sequential|directed/,
    'a million keys do not go down a thousand partitions each',
  )

  device.traversalCosts = costs
  const shape = { keyType: 'u32', payloadBytes: 4, unique: true, matchFrom: 0, layout: 'full' } as const
  const tree = await PrefixTree.create(device, shape)
  t.teardown(() => tree.destroy())
  const keys = new Uint8Array(Uint32Array.from({ length: 1000 }, (_, i) => i * 7).buffer)
  const prepared = await tree.prepare({ ops: WriteOp.insert, keys, payloads: keys })
  prepared.apply()
  const { payloads } = await tree.get(keys)
  t.same(payloads, keys)
  const { costs: seen, strategy, reason } = await tree.explain(keys)
  t.equal(seen[0]?.strategy, strategy)
  t.match(reason, /1000 keys of up to 8 digits over \d+ partitions of 3 levels/)
})
