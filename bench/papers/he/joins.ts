import type { Device } from '../../../gpu/device/device.js'
import { Primitives } from '../../../gpu/primitives/primitives.js'
import { QueryKernels } from '../../../gpu/relational/query/query-kernels.js'
import type { Row } from '../../report.js'
import { measureParts, type PartChoice } from '../parts.js'
import { benchAccessOrder } from './access-order.js'
import { drawCharts } from './charts.js'
import { benchFigure14 } from './figure14.js'
import { JoinBench } from './join-bench.js'
import type { PrimitiveBench } from './primitive-bench.js'
import { benchSearchForms } from './search-forms.js'
import { benchStringSorts } from './string-sorts.js'
import { benchTable3 } from './table3.js'
import { benchTable4, benchTable5 } from './table4.js'
import { benchThreadCounts } from './thread-counts.js'
import { benchTransfers } from './transfers.js'
import { benchBands, benchFigure13, benchSizes } from './varied.js'
import { benchWorkgroupMemory } from './workgroup-memory.js'

export interface JoinsOptions {
  /** Logarithm of the rows of each side; NINLJ gets fewer. */
  readonly logarithm: number
  /** Seconds instead of minutes. */
  readonly quick: boolean
  /** The figures and tables to measure; all unless given. */
  readonly parts: PartChoice | undefined
  /** Where the rows are kept, with the charts beside them. */
  readonly path: string | undefined
}

/** NINLJ compares all pairs of 2^20 and 2^20 rows, as in He's Table 4; a CPU gets fewer. */
const NESTED_LOGARITHM = { hardware: 20, software: 11 }

/** What parts are measured with. */
interface Setting {
  readonly primitives: PrimitiveBench
  readonly joins: JoinBench
  /** Rows of each side. */
  readonly count: number
  /** Rows of each side of NINLJ. */
  readonly nested: number
}

/** Figures and tables of He et al., and what their text varies without a figure: |S| and δ. Table 4 has Figure 12. */
const MEASUREMENTS = {
  figure6: ({ primitives }: Setting) => benchTransfers(primitives),
  table3: ({ primitives }: Setting) => benchTable3(primitives),
  figure7: ({ primitives }: Setting) => benchAccessOrder(primitives),
  figure8: ({ primitives }: Setting) => benchThreadCounts(primitives),
  figure10: ({ primitives }: Setting) => benchWorkgroupMemory(primitives),
  figure11: ({ primitives }: Setting) => benchSearchForms(primitives),
  table4: ({ joins, count, nested }: Setting) => benchTable4(joins, count, nested),
  figure13: ({ joins, count, nested }: Setting) => benchFigure13(joins, count, nested),
  figure14: ({ primitives, joins }: Setting) => benchFigure14(primitives, joins),
  table5: ({ joins, count, nested }: Setting) => benchTable5(joins, count, nested),
  figure15: ({ primitives }: Setting) => benchStringSorts(primitives),
  sizes: ({ joins, count, nested }: Setting) => benchSizes(joins, count, nested),
  bands: ({ joins, nested }: Setting) => benchBands(joins, nested),
} satisfies Record<string, (setting: Setting) => Promise<Row[]>>

type Part = keyof typeof MEASUREMENTS

/**
 * Repeats the evaluation of He et al. (§5), with keys and results on the device: `kernels ms` is the device's time by timestamps around each kernel, `wall
 * ms` the time from the call until the last pair is written, round trips included. What is compared is measured in turns on a warm device; beside
 * the middle of a time stand the least and the most. Every result is compared with the host's.
 */
export async function benchJoins(
  device: Device,
  { logarithm, quick, parts, path }: JoinsOptions,
): Promise<void> {
  const { name, software } = device.facts
  const primitives = await Primitives.create(device)
  const setting: Setting = {
    primitives: { device, primitives, logarithm, quick },
    joins: new JoinBench({ device, kernels: await QueryKernels.create(device, primitives) }),
    count: 2 ** logarithm,
    nested: 2 ** Math.min(logarithm, NESTED_LOGARITHM[software ? 'software' : 'hardware']),
  }
  await measureParts({
    suite: 'joins',
    adapter: name,
    all: Object.keys(MEASUREMENTS) as Part[],
    parts,
    measure: (part) => MEASUREMENTS[part](setting),
    draw: drawCharts,
    path,
  })
}
