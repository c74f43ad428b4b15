import type { AdapterChoice } from '../../../gpu/device/adapter.js'
import { Device } from '../../../gpu/device/device.js'
import { QueryKernels } from '../../../gpu/relational/query/query-kernels.js'
import { measureApart, measureForParent } from '../../apart.js'
import { byTurns } from '../../kernel-time.js'
import { type Row, spreadOf } from '../../report.js'
import { keepWarm, warmUp } from '../../warm-up.js'
import { measureParts, type PartChoice } from '../parts.js'
import { drawCharts } from './charts.js'
import { benchCtaJoins } from './cta-joins.js'
import { bytesOf, checkTuples } from './host-tuples.js'
import { operatorSteps, type Step } from './operators.js'
import { Queried } from './queried.js'
import { benchStages } from './stages.js'
import { benchTable3 } from './table3.js'
import { besideCopy, kernelRows, type Setting } from './timing.js'

/** Logarithms of the numbers of tuples: the paper has 8 K to 16 M. */
const LOGARITHMS = {
  full: { hardware: [13, 14, 16, 18, 20, 22, 24], software: [13, 15, 17] },
  quick: { hardware: [24], software: [13] },
}
/** Logarithm of the most tuples of a range in Table 3, of whatever shapes a workgroup joins them. */
const TABLE_3 = { full: 11, quick: 9 }
const EFFORT = { full: { repeats: 21, seconds: 2 }, quick: { repeats: 9, seconds: 0.5 } }

/** Logarithm of the most tuples of the stages in a quick run, and how much smaller its other relations are. */
const QUICK_STAGES = 20
const QUICK_SMALLER = [4, 2, 0]

export interface RelationalOptions {
  readonly adapter: AdapterChoice
  /** Seconds instead of minutes. */
  readonly quick: boolean
  /** The figures and tables to measure; all unless given. */
  readonly parts: PartChoice | undefined
  /** Where the rows are kept, with the charts beside them. */
  readonly path: string | undefined
}

/** What a part is measured with. */
interface Tools {
  readonly setting: Setting
  readonly kernels: QueryKernels
  readonly logarithm: number
  readonly quick: boolean
  /** Whether what each kernel takes by itself is measured, too. */
  readonly alone: boolean
}

/** Figures of the paper: `operators` is Figure 9, `ctaJoins` whole joins by the algorithms of Table 3, `table3` these by themselves, `stages` Figures 10 to 16. */
const MEASUREMENTS = {
  operators: measureOperators,
  ctaJoins: ({ setting, logarithm, alone }: Tools) => benchCtaJoins(setting, logarithm, alone),
  table3: ({ setting, logarithm, quick }: Tools) => benchTable3({ ...setting, quick }, 2 ** logarithm),
  stages: ({ setting, logarithm }: Tools) => benchStages(setting, logarithm),
} satisfies Record<string, (tools: Tools) => Promise<Row[]>>

type Part = keyof typeof MEASUREMENTS

interface Measurement {
  readonly adapter: AdapterChoice
  readonly logarithm: number
  readonly quick: boolean
  readonly part: Part
}

/**
 * Repeats the evaluation of Diamos et al.: of the operators that queries run on, and of what only the paper's experiments have. `µs` is the device's own time where it
 * has one, `ms` a query's by the wall clock, from its checked tree to values in columns. `GB/s` counts the bytes of tuples that go in and come out once each, `% of copy` is that as a share of what copying as many bytes reaches in turns with it.
 * Every result is compared with a plain loop's. Each size is measured in a process of its own.
 */
export async function benchRelational(
  { name, software }: Device['facts'],
  { adapter, quick, parts, path }: RelationalOptions,
): Promise<void> {
  const measure = async (part: Part): Promise<Row[]> => {
    const rows: Row[] = []
    for (const logarithm of logarithmsOf(part, quick, software)) {
      const measurement = { adapter, logarithm, quick, part }
      rows.push(...((await measureApart<Measurement, Row[]>(import.meta.url, measurement)) ?? []))
    }
    return rows
  }
  const all = Object.keys(MEASUREMENTS) as Part[]
  await measureParts({ suite: 'relational', adapter: name, all, parts, measure, draw: drawCharts, path })
}

/** Keys of the distributions of stages are drawn and sorted on the host, which takes long for many. */
function logarithmsOf(part: Part, quick: boolean, software: boolean): readonly number[] {
  const all = LOGARITHMS[quick ? 'quick' : 'full'][software ? 'software' : 'hardware']
  if (part === 'table3') return [TABLE_3[quick ? 'quick' : 'full']]
  if (part !== 'stages' || !quick) return all
  return QUICK_SMALLER.map((smaller) => Math.min(QUICK_STAGES, Math.max(...all)) - smaller)
}

/** A part for relations of one size, in the process made for it. */
async function measure({ adapter, logarithm, quick, part }: Measurement): Promise<Row[]> {
  const device = await Device.open(adapter)
  const kernels = await QueryKernels.create(device)
  const { primitives } = kernels
  const setting = { device, primitives, effort: EFFORT[quick ? 'quick' : 'full'] }
  const alone = logarithm === Math.max(...LOGARITHMS.full.hardware)
  await warmUp(device, primitives)
  const rows = await MEASUREMENTS[part]({ setting, kernels, logarithm, quick, alone })
  device.destroy()
  return rows
}

async function measureOperators({ setting, kernels, logarithm, alone }: Tools): Promise<Row[]> {
  const rows: Row[] = []
  for (const step of operatorSteps(2 ** logarithm)) {
    const sized = { ...step, name: `${step.name}, 2^${logarithm}` }
    rows.push(...(await measureStep(setting, kernels, sized, alone)))
  }
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
    const row = { ...figures, 'M tuples/s': tuples / Number(figures.µs), ...spreadOf('ms', times!) }
    return [{ name, figures: row }, ...(alone ? await kernelRows(device, name, () => queried.run(node)) : [])]
  } finally {
    queried.destroy()
  }
}

await measureForParent(import.meta.url, measure)
