import type { AdapterChoice } from '../../gpu/device/adapter.js'
import { Device } from '../../gpu/device/device.js'
import { Primitives } from '../../gpu/primitives/primitives.js'
import { Algebra } from '../../gpu/relational/algebra/algebra.js'
import { measureApart, measureForParent } from '../apart.js'
import { profiled } from '../profiled.js'
import type { Row } from '../report.js'
import { kernelTime } from '../speculation/kernel-time.js'
import { warmUp } from '../warm-up.js'
import { CopyRates } from './copy-rates.js'
import { ctaJoinSteps, joinSteps } from './join-steps.js'
import { operatorSteps, type Step } from './operators.js'
import { benchStages } from './stages.js'

/** Logarithms of the numbers of tuples: the paper has 8 K to 16 M. */
const LOGARITHMS = {
  full: { hardware: [13, 14, 16, 18, 20, 22, 24], software: [13, 15, 17] },
  quick: { hardware: [24], software: [13] },
}
const EFFORT = { full: { repeats: 21, seconds: 2 }, quick: { repeats: 9, seconds: 0.5 } }

/** Repetitions of which the kernels' times are the mean. */
const PROFILED = 5

/** Logarithm of the most tuples of the stages in a quick run, and how much smaller its other relations are. */
const QUICK_STAGES = 20
const QUICK_SMALLER = [4, 2, 0]

interface Measurement {
  readonly adapter: AdapterChoice
  readonly logarithm: number
  readonly quick: boolean
}

/**
 * The figures of Diamos 2012 on relations that lie on the device: by the device's own time where it has one. `GB/s` counts the bytes
 * of tuples that go in and come out once each, `% of copy` is that as a share of what copying as many bytes reaches
 * in the same process, by the device's own copy or by a kernel, whichever is faster. Every result is compared with a plain loop's.
 */
export async function benchRelational(
  adapter: AdapterChoice,
  software: boolean,
  quick: boolean,
): Promise<Row[]> {
  const rows: Row[] = []
  const logarithms = LOGARITHMS[quick ? 'quick' : 'full'][software ? 'software' : 'hardware']
  for (const logarithm of logarithms) {
    rows.push(
      ...((await measureApart<Measurement, Row[]>(import.meta.url, { adapter, logarithm, quick })) ?? []),
    )
  }
  return rows
}

/** All operators on relations of one size, in the process made for it. */
async function measure({ adapter, logarithm, quick }: Measurement): Promise<Row[]> {
  const device = await Device.open(adapter)
  const primitives = await Primitives.create(device)
  const algebra = await Algebra.create(device, primitives)
  const effort = EFFORT[quick ? 'quick' : 'full']
  const inputs = device.scratch()
  const steps: Step[] = []
  const bench = { device, algebra, inputs, count: 2 ** logarithm }
  for (const some of [operatorSteps, joinSteps, ctaJoinSteps]) {
    for await (const step of some(bench)) {
      await step.check()
      steps.push(step)
    }
  }
  // From here on the device is never idle for long, so that it stays at the clock at which it works under load.
  await warmUp(device, primitives)
  const copies = new CopyRates(device, primitives, effort)
  const rows: Row[] = []
  for (const step of steps) {
    const { microseconds } = await kernelTime(device, effort, step.record)
    const rate = step.bytes / microseconds / 1e3
    const figures = {
      µs: microseconds,
      'M tuples/s': step.tuples / microseconds,
      'GB/s': rate,
      '% of copy': (100 * rate) / (await copies.rate(step.bytes)),
    }
    rows.push({ name: `${step.name}, 2^${logarithm}`, figures })
  }
  if (logarithm === Math.max(...LOGARITHMS.full.hardware)) {
    for (const step of steps) rows.push(...(await kernelRows(device, step, logarithm)))
  }
  inputs.release()
  // Keys of the distributions are drawn and sorted on the host, which takes long for many.
  const drawn = quick
    ? QUICK_SMALLER.map((smaller) => Math.min(QUICK_STAGES, logarithm) - smaller)
    : [logarithm]
  for (const one of drawn) rows.push(...(await benchStages(device, primitives, copies, effort, one)))
  for (const { name, figures } of rows) console.log(`${name}: ${JSON.stringify(figures)}`)
  device.destroy()
  return rows
}

/** What each kernel of an operator takes by itself. */
async function kernelRows(device: Device, step: Step, logarithm: number): Promise<Row[]> {
  const kernels = await profiled(device, async () => {
    for (let repeat = 0; repeat < PROFILED; repeat++) {
      const scratch = device.scratch()
      const recorder = device.record()
      step.record(recorder, scratch)
      recorder.submit()
      scratch.release()
    }
    await device.workDone()
  })
  return (kernels ?? []).map(({ kernel, dispatches, microseconds }) => ({
    name: `${step.name}, 2^${logarithm}: ${kernel}`,
    figures: { dispatches: dispatches / PROFILED, 'µs alone': microseconds / PROFILED },
  }))
}

await measureForParent(import.meta.url, measure)
