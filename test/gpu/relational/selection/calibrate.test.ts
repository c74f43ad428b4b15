import t from 'tap'
import type { Device } from '../../../../gpu/device/device.js'
import type { DeviceMemory } from '../../../../gpu/memory/page-run.js'
import type { Scratch } from '../../../../gpu/memory/scratch.js'
import { calibrateSelections } from '../../../../gpu/relational/selection/calibrate.js'
import { asSelectionCosts } from '../../../../protocol/query/selection-costs.js'
import { openDevice } from '../../open-device.js'

/** Large enough for every measurement to run, and for nothing else. */
const SMALL = { rows: 2 ** 12, repeats: 1, words: 3, wide: 2 }

/** The buffers that a device makes from now on and that are not destroyed. */
function liveBuffers(device: Device): ReadonlySet<DeviceMemory> {
  const live = new Set<DeviceMemory>()
  const { allocate } = device
  device.allocate = async (bytes, label) => {
    const buffer = await allocate.call(device, bytes, label)
    const destroy = buffer.destroy.bind(buffer)
    live.add(buffer)
    buffer.destroy = () => {
      live.delete(buffer)
      return destroy()
    }
    return buffer
  }
  return live
}

t.test('measures a device, and may be stopped', async (t) => {
  const device = await openDevice(t)
  const live = liveBuffers(device)
  const scratches: Scratch[] = []
  const { scratch } = device
  device.scratch = (...args) => {
    const made = scratch.apply(device, args)
    scratches.push(made)
    return made
  }
  const costs = await calibrateSelections(device, undefined, SMALL)
  t.same(asSelectionCosts(JSON.parse(JSON.stringify(costs))), costs, 'they can be stored')
  const { rates, scan, granule, workgroup, gather, write, launch } = costs
  t.equal(rates.word.length, SMALL.words)
  t.equal(rates.wide.length, SMALL.wide)
  t.equal(rates.word[0], 1)
  t.ok(granule >= 1)
  t.ok(scan.word >= 0 && scan.wide >= 0 && workgroup > 0)

  t.ok(gather.word >= scan.word && gather.wide >= scan.wide, 'whatever the noise')
  t.ok(write >= scan.word / 8 && launch >= 1000)
  const left = [...live].map(({ label }) => label)
  t.strictSame([...new Set(left)], ['an absent device count'], 'those of primitives, of a word each')
  t.ok(scratches.length > 0 && scratches.every(({ heldBytes }) => heldBytes === 0))

  t.equal(asSelectionCosts({ ...costs, granule: 0.5 }), undefined)

  const stop = new AbortController()
  const stopped = calibrateSelections(device, stop.signal, SMALL)
  stop.abort(new Error('enough'))
  await t.rejects(stopped, { message: 'enough' })
})
