import type { Device } from '../../../gpu/device/device.js'
import { Primitives } from '../../../gpu/primitives/primitives.js'
import { QueryKernels } from '../../../gpu/relational/query/query-kernels.js'
import { calibrateSelections } from '../../../gpu/relational/selection/calibrate.js'
import { SelectionTimer } from '../../../gpu/relational/selection/selection-timer.js'
import type { Effort } from '../../kernel-time.js'
import { median, type Row } from '../../report.js'
import { warmUp } from '../../warm-up.js'
import { copyRate } from '../diamos/timing.js'
import { DuckTable } from './duckdb-select.js'
import { commonQ1, commonQ2, measureFigures, type Point } from './figures.js'
import { measureFirstUse } from './first-use.js'
import { type Measured, PlanBench } from './measure-plans.js'
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

/** Table of rows, and the points of figures that it summarises. */
export interface SelectResult {
  readonly rows: readonly Row[]
  readonly points: readonly Point[]
}

/**
 * Figures 2, 3, 5, 7, 8 and 9 of Sitaridi and Ross: every plan of every point is measured, and how far the one that the planner chose is from the best. `ms`
 * are the device's, by timestamps around all kernels of a plan; `wall ms` go from the call until the result is on the device and the host
 * knows how large it is. Every run's number of rows is compared with that of a plain loop.
 */
export async function benchSelect(device: Device, quick: boolean): Promise<SelectResult> {
  const primitives = await Primitives.create(device)
  const kernels = await QueryKernels.create(device, primitives)
  const kind = device.facts.software ? 'software' : 'hardware'
  const effort = quick ? 'quick' : 'full'
  const begin = performance.now()
  const costs = await calibrateSelections(device)
  // As in a server that is calibrated: kernels have the workgroups that were measured.
  device.selectionCosts = costs
  console.log(`calibrated in ${((performance.now() - begin) / 1e3).toFixed(1)} s: ${JSON.stringify(costs)}`)
  const [rows, smallRows] = ROWS[effort][kind]
  const setting = { device, primitives, rows, smallRows, quick }
  const timer = new SelectionTimer(device, kernels)
  const bench = new PlanBench(device, primitives, timer, costs, EFFORT[effort])
  const points = await measureFigures(setting, bench)
  return {
    rows: [
      ...points.map(pointRow),
      ...distances(points),
      ...(await bandwidths(setting, bench)),
      ...(await besideDuck(setting, bench)),
      ...(await measureFirstUse(device, kernels)),
      ...measureOptimiser(costs),
    ],
    points,
  }
}

function pointRow({ figure, selectivity, chosen, best }: Point): Row {
  return {
    name: `${figure}, selectivity ${selectivity}`,
    figures: {
      chosen: chosen.name,
      'chosen ms': chosen.ms,
      'estimated ms': chosen.estimated,
      'wall ms': chosen.wall,
      best: best.name,
      'best ms': best.ms,
      distance: distance({ chosen, best }),
    },
  }
}

/** How much longer the chosen plan took than the best one measured, in percent. */
function distance({ chosen, best }: Pick<Measured, 'chosen' | 'best'>): number {
  return 100 * (chosen.ms / best.ms - 1)
}

function distances(points: readonly Point[]): Row[] {
  const figures = [...new Set(points.map(({ figure }) => figure))]
  const summary = (name: string, some: readonly Point[]): Row => {
    const all = some.map(distance)
    return {
      name: `the planner's choice, ${name}`,
      figures: { points: all.length, 'median %': median(all), 'worst %': Math.max(...all) },
    }
  }
  return [
    ...figures.map((figure) =>
      summary(
        figure,
        points.filter((point) => point.figure === figure),
      ),
    ),
    summary('all figures', points),
  ]
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
    const share = async (name: string, bytes: number, ms: number): Promise<Row> => {
      const rate = bytes / ms / 1e6
      await warmUp(device, primitives)
      const copy = await copyRate({ device, primitives, effort: COPY_EFFORT }, bytes)
      return { name, figures: { ms, 'GB/s': rate, 'copy GB/s': copy, '% of copy': (100 * rate) / copy } }
    }
    const measured = [await share('count scan of one column', VALUE_BYTES * rows, scan.ms)]
    for (const question of questions) {
      const chosen = await bench.chosen(question)
      const bytes = question.conditions.length * VALUE_BYTES * rows
      const name = `Q2, selectivity ${question.selectivity}, ${chosen.name}`
      measured.push(await share(name, bytes, chosen.ms))
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
