import type { AdapterChoice } from '../../../gpu/device/adapter.js'
import { Device } from '../../../gpu/device/device.js'
import { QueryKernels } from '../../../gpu/relational/query/query-kernels.js'
import { measureApart, measureForParent } from '../../apart.js'
import { byTurns } from '../../kernel-time.js'
import { median, type Row, shown } from '../../report.js'
import { keepWarm, warmUp } from '../../warm-up.js'
import { benchCtaJoins } from './cta-joins.js'
import { bytesOf, checkTuples } from './host-tuples.js'
import { operatorSteps, type Step } from './operators.js'
import { Queried } from './queried.js'
import { benchStages } from './stages.js'
import { besideCopy, kernelRows, type Setting } from './timing.js'

/** Logarithms of the numbers of tuples: the paper has 8 K to 16 M. */
const LOGARITHMS = {
  full: { hardware: [13, 14, 16, 18, 20, 22, 24], software: [13, 15, 17] },
  quick: { hardware: [24], software: [13] },
}
const EFFORT = { full: { repeats: 21, seconds: 2 }, quick: { repeats: 9, seconds: 0.5 } }

/** Logarithm of the most tuples of the stages in a quick run, and how much smaller its other relations are. */
const QUICK_STAGES = 20
const QUICK_SMALLER = [4, 2, 0]

interface Measurement {
  readonly adapter: AdapterChoice
  readonly logarithm: number
  readonly quick: boolean
}

/**
 * The figures of Diamos 2012: of the operators that queries run on, and of what only the paper's experiments have. `µs` is the device's own time where it
 * has one, `ms` a query's by the wall clock, from its checked tree to values in columns. `GB/s` counts the bytes of tuples that go in and come out once each, `% of copy` is that as a share of what copying as many bytes reaches in turns with it.
 * Every result is compared with a plain loop's.
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

/** All of the figures for relations of one size, in the process made for it. */
async function measure({ adapter, logarithm, quick }: Measurement): Promise<Row[]> {
  const device = await Device.open(adapter)
  const kernels = await QueryKernels.create(device)
  const { primitives } = kernels
  const setting = { device, primitives, effort: EFFORT[quick ? 'quick' : 'full'] }
  const alone = logarithm === Math.max(...LOGARITHMS.full.hardware)
  const rows: Row[] = []
  await warmUp(device, primitives)
  for (const step of operatorSteps(2 ** logarithm)) {
    const sized = { ...step, name: `${step.name}, 2^${logarithm}` }
    rows.push(...(await measureStep(setting, kernels, sized, alone)))
  }
  rows.push(...(await benchCtaJoins(setting, logarithm, alone)))
  // Keys of the distributions are drawn and sorted on the host, which takes long for many.
  const drawn = quick
    ? QUICK_SMALLER.map((smaller) => Math.min(QUICK_STAGES, logarithm) - smaller)
    : [logarithm]
  for (const one of drawn) rows.push(...(await benchStages(setting, one)))
  shown(rows)
  device.destroy()
  return rows
}

/** An operator's figures, and with `alone` what each of its kernels takes by itself. */
async function measureStep(
  setting: Setting,
  kernels: QueryKernels,
  { name, relations, query, wanted }: Step,
  alone: boolean,
): Promise<Row[]> {
  const { device, primitives, effort } = setting
  const queried = await Queried.store(device, kernels, relations)
  try {
    const node = queried.check(query)
    checkTuples(name, await queried.read(node), wanted)
    const inputs = Object.values(relations)
    const bytes = inputs.reduce((sum, tuples) => sum + bytesOf(tuples), bytesOf(wanted))
    const tuples = Math.max(...[...inputs, wanted].map(([keys]) => keys!.length))
    const [times] = await byTurns(effort, [
      async () => {
        await keepWarm(device, primitives)
        return queried.wallClock(node)
      },
    ])
    const figures = await besideCopy(setting, { bytes, time: () => queried.kernelTime(node) })
    const row = { ...figures, 'M tuples/s': tuples / Number(figures.µs), ms: median(times!) }
    return [{ name, figures: row }, ...(alone ? await kernelRows(device, name, () => queried.run(node)) : [])]
  } finally {
    queried.destroy()
  }
}

await measureForParent(import.meta.url, measure)
