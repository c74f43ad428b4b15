import t from 'tap'
import type { Device } from '../../../../gpu/device/device.js'
import { type CalibrationPlan, calibrate } from '../../../../gpu/index/partitions/calibration.js'
import { fitCosts, impossibleCost } from '../../../../gpu/index/partitions/fit-costs.js'
import { estimate, type Situation } from '../../../../gpu/index/partitions/traversal-costs.js'
import { PrefixTree } from '../../../../gpu/index/prefix-tree.js'
import { TRAVERSALS } from '../../../../protocol/traversal.js'
import { WriteOp } from '../../../../protocol/types.js'
import { reads } from '../../../reads.js'
import { prepareBatch } from '../../../writes.js'
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

const device = await openDevice(t)

t.test('measures a device, after which trees choose by themselves', async (t) => {
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
  const prepared = await prepareBatch(tree, { ops: WriteOp.insert, keys, payloads: keys })
  prepared.apply()
  const { payloads } = await reads(tree).get(keys)
  t.same(payloads, keys)
  const { costs: seen, strategy, reason } = await reads(tree).explain(keys)
  t.equal(seen[0]?.strategy, strategy)
  t.match(reason, /1000 keys of up to 8 digits over \d+ partitions of 3 levels/)
})

/** Kernels of each submission from now on, those of timed ones with a mark. */
function watchSubmissions(device: Device): string[][] {
  const submissions: string[][] = []
  const { record } = device
  device.record = (profiler) => {
    const recorder = record.call(device, profiler)
    const { dispatchGroups, stamp, submit } = recorder
    const kernels = new Set<string>()
    recorder.dispatchGroups = (kernel, ...rest) => {
      kernels.add(kernel.label.split(' ')[0]!)
      dispatchGroups.call(recorder, kernel, ...rest)
    }
    recorder.stamp = (...stamped) => {
      kernels.add('timed')
      stamp.call(recorder, ...stamped)
    }
    recorder.submit = () => {
      submissions.push([...kernels].sort())
      submit.call(recorder)
    }
    return recorder
  }
  return submissions
}

t.test('a GPU is kept at its clock for every run, and strategies take turns', async (t) => {
  const plan: CalibrationPlan = {
    samples: [{ keys: 10, keyBytes: 8, layout: 'full', partitionLevels: 4 }],
    batches: [1],
    repeats: 1,
    // Only those that go down few partitions, which takes this test the least.
    mostResults: 0,
  }
  Object.assign(device, { facts: { ...device.facts, software: false } })
  const submissions = watchSubmissions(device)
  await calibrate(device, plan)
  // Reading a clock is a submission without kernels.
  const runs = submissions.filter((kernels) => kernels.length > 0)
  const isWarming = (kernels: readonly string[] | undefined) => kernels?.join() === 'primitives/map'
  const isTimed = (kernels: readonly string[] | undefined) => kernels?.includes('timed') ?? false
  const timed: string[] = []
  for (const [i, kernels] of runs.entries()) {
    if (!isTimed(kernels)) continue
    t.ok(isWarming(runs[i - 1]) || isTimed(runs[i - 1]), 'behind other work')
    if (isWarming(runs[i - 1])) timed.push(kernels.join())
  }
  const ways = TRAVERSALS.filter(({ strategy }) => /sequential|directed/.test(strategy)).length
  t.equal(timed.length, 2 * ways, 'each run of each strategy')
  t.same(timed.slice(ways), timed.slice(0, ways), 'one after the other')
  t.ok(new Set(timed).size > 1)
  const first = runs.findIndex(isTimed)
  t.ok(runs.slice(0, first).filter(isWarming).length > 2, 'it is warmed up first')
})

t.test('costs that no device can have are found', async (t) => {
  const situations = [1, 16, 256, 4096].map((batch) => ({ ...FEW, batch }))
  /** Measurements by which speculation takes so long for a key and its reversal so many times as long. */
  const measured = (perKey: number, reversed: number) =>
    new Map(
      TRAVERSALS.filter(({ strategy }) => strategy === 'speculative').map((traversal) => {
        const factor = traversal.resolution === 'reversed' ? reversed : 1
        const times = situations.map((situation) => {
          return { situation, microseconds: (100 + perKey * situation.batch) * factor }
        })
        return [traversal, times] as const
      }),
    )
  const impossible = (perKey: number, reversed: number) => {
    const measurements = measured(perKey, reversed)
    return impossibleCost(fitCosts(measurements), measurements)
  }
  t.equal(impossible(5, 1.5), undefined)
  t.match(impossible(5, 1 / 20), /less than half/)
  t.match(impossible(0, 1), /no time for more keys/)
})
