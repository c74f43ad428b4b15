import type { Device } from '../../../gpu/device/device.js'
import { Primitives } from '../../../gpu/primitives/primitives.js'
import { QueryKernels } from '../../../gpu/relational/query/query-kernels.js'
import { calibrateSelections } from '../../../gpu/relational/selection/calibrate.js'
import { SelectionTimer } from '../../../gpu/relational/selection/selection-timer.js'
import type { Effort } from '../../kernel-time.js'
import type { Row } from '../../report.js'
import { warmUp } from '../../warm-up.js'
import { copyRate } from '../diamos/timing.js'
import { measureParts, type PartChoice } from '../parts.js'
import { measureByRow } from './by-row.js'
import { drawCharts } from './charts.js'
import { DuckTable } from './duckdb-select.js'
import { commonQ1, commonQ2, measureFigure } from './figures.js'
import { measureFirstUse } from './first-use.js'
import { PlanBench, type PlanTime } from './measure-plans.js'
import { measureOptimiser } from './optimiser-time.js'
import type { SelectBench } from './setting.js'
import { below, boundOf, countRows, randomTable } from './workload.js'

/** The paper's 128 million rows and 12.8 million. */
const ROWS = {
  full: { hardware: [2 ** 27, 12_800_000], software: [2 ** 18, 2 ** 16] },
  quick: { hardware: [2 ** 24, 2 ** 23], software: [2 ** 16, 2 ** 14] },
} as const
const EFFORT: Readonly<Record<'full' | 'quick', Effort>> = {
  full: { repeats: 9, seconds: 0.3 },
  quick: { repeats: 5, seconds: 0.1 },
}
const COPY_EFFORT: Effort = { repeats: 21, seconds: 1 }

/** Selectivities of Q2 whose bandwidth is compared with that of a copy (from 0.4 on), and of both questions that DuckDB is asked. */
const COPIED = [0.4, 0.7]
const ASKED = [0.1, 0.5]
/** Of the scan of one column. */
const SCANNED = 0.5

const VALUE_BYTES = 4

export interface SelectOptions {
  /** Seconds instead of minutes, on small tables. */
  readonly quick: boolean
  /** The figures to measure; all unless given. */
  readonly parts: PartChoice | undefined
  /** Where the rows are kept, with the charts beside them. */
  readonly path: string | undefined
}

/** What parts are measured with. */
interface Tools {
  readonly setting: SelectBench
  readonly bench: PlanBench
  readonly kernels: QueryKernels
  readonly effort: Effort
}

/** Figures of Sitaridi and Ross, Figure 2 again with branches by row, and what the paper says in words. Figure 2 has Figure 5. */
const MEASUREMENTS = {
  figure2: ({ setting, bench }: Tools) => measureFigure(setting, bench, 2),
  byRow: ({ setting, effort }: Tools) => measureByRow(setting, effort),
  figure7: ({ setting, bench }: Tools) => measureFigure(setting, bench, 7),
  figure8: ({ setting, bench }: Tools) => measureFigure(setting, bench, 8),
  figure3: ({ setting, bench }: Tools) => measureFigure(setting, bench, 3),
  bandwidth: ({ setting, bench }: Tools) => bandwidths(setting, bench),
  duckdb: ({ setting, bench }: Tools) => besideDuck(setting, bench),
  firstUse: ({ setting, kernels }: Tools) => measureFirstUse(setting.device, kernels),
  figure9: async ({ bench }: Tools) => measureOptimiser(bench.costs),
} satisfies Record<string, (tools: Tools) => Promise<Row[]>>

type Part = keyof typeof MEASUREMENTS

/**
 * Repeats the evaluation of Sitaridi and Ross: every plan of every point is measured, and how far the one that the planner chose is from the best. `ms`
 * are the device's, by timestamps around all kernels of a plan; `wall ms` go from the call until the result is on the device and the host
 * knows how large it is. Every run's number of rows is compared with that of a plain loop.
 */
export async function benchSelect(device: Device, { quick, parts, path }: SelectOptions): Promise<void> {
  const primitives = await Primitives.create(device)
  const kernels = await QueryKernels.create(device, primitives)
  const kind = device.facts.software ? 'software' : 'hardware'
  const begin = performance.now()
  const costs = await calibrateSelections(device)
  // As in a server that is calibrated: kernels have the workgroups that were measured.
  device.selectionCosts = costs
  console.log(`calibrated in ${((performance.now() - begin) / 1e3).toFixed(1)} s: ${JSON.stringify(costs)}`)
  const [rows, smallRows] = ROWS[quick ? 'quick' : 'full'][kind]
  const effort = EFFORT[quick ? 'quick' : 'full']
  const setting = { device, primitives, rows, smallRows, quick }
  const timer = new SelectionTimer(device, kernels)
  const bench = new PlanBench(device, primitives, timer, costs, effort)
  await measureParts({
    suite: 'select',
    adapter: device.facts.name,
    all: Object.keys(MEASUREMENTS) as Part[],
    parts,
    measure: (part) => MEASUREMENTS[part]({ setting, bench, kernels, effort }),
    draw: drawCharts,
    path,
  })
}

/** Scans as shares of what a copy reaches, by bytes that are read. */
async function bandwidths({ device, primitives, rows }: SelectBench, bench: PlanBench): Promise<Row[]> {
  const table = await randomTable(device, rows, 4)
  try {
    const questions = commonQ2(table, COPIED)
    const bound = boundOf(SCANNED)
    const [count] = countRows(rows, { fixed: [], varied: [0] }, [bound])
    // The host has counted rows, and the device done nothing.
    await warmUp(device, primitives)
    const scan = await bench.chosen({
      table,
      conditions: [below(0, bound)],
      selectivities: [SCANNED],
      matchedBytes: [0],
      output: { kind: 'count' },
      count: count!,
    })
    const share = async (name: string, bytes: number, { name: plan, ms, spread }: PlanTime): Promise<Row> => {
      const [least, most] = spread
      const rate = bytes / ms / 1e6
      await warmUp(device, primitives)
      const copy = await copyRate({ device, primitives, effort: COPY_EFFORT }, bytes)
      const rates = { 'GB/s': rate, 'copy GB/s': copy, '% of copy': (100 * rate) / copy }
      return { name, figures: { plan, ms, 'ms, least': least, 'ms, most': most, ...rates } }
    }
    const measured = [await share('count scan of one column', VALUE_BYTES * rows, scan)]
    for (const question of questions) {
      const chosen = await bench.chosen(question)
      const bytes = question.conditions.length * VALUE_BYTES * rows
      measured.push(await share(`Q2, selectivity ${question.selectivity}`, bytes, chosen))
    }
    return measured
  } finally {
    table.destroy()
  }
}

/** Q1 and Q2 beside DuckDB, which writes the result of Q1 to a table in memory. */
async function besideDuck({ device, primitives, rows }: SelectBench, bench: PlanBench): Promise<Row[]> {
  const duck = await DuckTable.create(rows, 4)
  if (duck === undefined) return [{ name: 'DuckDB', figures: { ms: 'not installed' } }]
  const table = await randomTable(device, rows, 4)
  try {
    const answered: Row[] = []
    const [q1, q2] = [commonQ1(table, ASKED), commonQ2(table, ASKED)]
    for (const [i, selectivity] of ASKED.entries()) {
      const bound = boundOf(selectivity)
      const asked = [
        ['Q1', q1[i]!, await duck.column([bound, bound, bound])],
        ['Q2', q2[i]!, await duck.count([bound, bound, bound, bound])],
      ] as const
      for (const [name, question, answer] of asked) {
        if (answer.count !== question.count) {
          throw new Error(`DuckDB selected ${answer.count} rows, not ${question.count}`)
        }
        await warmUp(device, primitives)
        const chosen = await bench.chosen(question)
        answered.push({
          name: `${name}, selectivity ${selectivity}, beside DuckDB on ${duck.threads} threads`,
          figures: {
            plan: chosen.name,
            ms: chosen.ms,
            'wall ms': chosen.wall,
            'DuckDB ms': answer.ms,
            'to DuckDB': answer.ms / chosen.wall,
          },
        })
      }
    }
    return answered
  } finally {
    table.destroy()
    duck.close()
  }
}
