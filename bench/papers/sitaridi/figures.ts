import type { Condition, SelectionOutput } from '../../../gpu/relational/selection/selection-types.js'
import { median, type Row } from '../../report.js'
import { warmUp } from '../../warm-up.js'
import type { Measured, PlanBench, PlanTime, Question } from './measure-plans.js'
import type { SelectBench } from './setting.js'
import { below, boundOf, countRows, matches, randomTable, type SelectTable } from './workload.js'

/** What is kept of a plan at a point. */
export type PlanFigures = Pick<PlanTime, 'name' | 'ms' | 'spread'> &
  Partial<Pick<PlanTime, 'wall' | 'estimated'>>

/** One point of a figure: what the planner chose and what was best, and all plans. */
export interface PointRow extends Row {
  readonly selectivity: number
  readonly plans: readonly PlanFigures[]
}

/** Shares of rows, for points along the axes of the figures. */
interface Grid {
  readonly linear: readonly number[]
  readonly logarithmic: readonly number[]
}

const GRIDS: Readonly<Record<'full' | 'quick', Grid>> = {
  full: {
    linear: [0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99],
    logarithmic: [0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 0.99],
  },
  quick: { linear: [0.05, 0.2, 0.4, 0.8], logarithmic: [0.001, 0.03, 0.4] },
}

/** The second and the third condition of Figure 3, and the first and the third of Figure 8. */
const FIXED = 0.5
const FIRST = 0.1
const THIRD = 0.8

/** Lengths of strings in Figure 3. */
const LENGTHS = [8, 16]

/** Conditions of the paper's queries. */
const Q1_CONDITIONS = 3
const Q2_CONDITIONS = 4

/** Q1 asks for a fourth column. */
const Q1_OUTPUT: SelectionOutput = { kind: 'columns', columns: [3] }
const Q2_OUTPUT: SelectionOutput = { kind: 'count' }

/** Figures 2 (and 5), 7 and 8 over the large table, Figure 3 over the small one. */
export type Figure = 2 | 3 | 7 | 8

/** The points of a figure, and how far the planner's choices are from the best plans. */
export async function measureFigure(setting: SelectBench, bench: PlanBench, figure: Figure): Promise<Row[]> {
  const grid = gridOf(setting)
  if (figure === 3) return measureMatches(setting, bench, grid)
  const table = await randomTable(setting.device, setting.rows, Q2_CONDITIONS)
  const axes = {
    2: () => commonQ2(table, grid.linear),
    7: () => commonQ1(table, grid.logarithmic),
    8: () => variedSecond(table, grid.linear),
  }
  try {
    return await measureAlong(setting, bench, `Figure ${figure}`, axes[figure]())
  } finally {
    table.destroy()
  }
}

export function gridOf({ quick }: SelectBench): Grid {
  return GRIDS[quick ? 'quick' : 'full']
}

/** Figure 3: the last condition may be a match in strings. */
async function measureMatches(setting: SelectBench, bench: PlanBench, grid: Grid): Promise<Row[]> {
  const rows: Row[] = []
  const table = await randomTable(setting.device, setting.smallRows, Q2_CONDITIONS, LENGTHS)
  try {
    const last = [undefined, ...LENGTHS.map((length, i) => ({ column: Q2_CONDITIONS + i, length }))]
    for (const match of last) {
      const name = match === undefined ? 'integers' : `strings of ${match.length}`
      const questions = variedFirst(table, grid.logarithmic, match)
      rows.push(...(await measureAlong(setting, bench, `Figure 3, ${name}`, questions)))
    }
  } finally {
    table.destroy()
  }
  return rows
}

/** A question for each selectivity of an axis. */
type Axis = readonly (Question & { readonly selectivity: number })[]

async function measureAlong(
  { device, primitives }: SelectBench,
  bench: PlanBench,
  figure: string,
  axis: Axis,
): Promise<Row[]> {
  const points: PointRow[] = []
  const distances: number[] = []
  // The host has counted rows, and the device done nothing.
  await warmUp(device, primitives)
  for (const { selectivity, ...question } of axis) {
    const measured = await bench.measure(question)
    const distance = distanceOf(measured)
    points.push(pointRow(`${figure}, selectivity ${selectivity}`, selectivity, measured, distance))
    distances.push(distance)
  }
  const summary = {
    points: distances.length,
    'median %': median(distances),
    'worst %': Math.max(...distances),
  }
  return [...points, { name: `the planner's choice, ${figure}`, figures: summary }]
}

/** How much longer the chosen plan took than the best one measured, in percent. */
function distanceOf({ chosen, best }: Measured): number {
  return 100 * (chosen.ms / best.ms - 1)
}

function pointRow(
  name: string,
  selectivity: number,
  { plans, chosen, best }: Measured,
  distance: number,
): PointRow {
  const figures = {
    chosen: chosen.name,
    'chosen ms': chosen.ms,
    'estimated ms': chosen.estimated,
    'wall ms': chosen.wall,
    best: best.name,
    'best ms': best.ms,
    distance,
  }
  return { name, figures, selectivity, plans: plans.map(({ plan, ...times }) => times) }
}

/** Q2: SELECT COUNT(*) WHERE c0 < v AND c1 < v AND c2 < v AND c3 < v. */
export function commonQ2(table: SelectTable, axis: readonly number[]): Axis {
  return common(table, axis, Q2_CONDITIONS, Q2_OUTPUT)
}

/** Q1: SELECT c3 WHERE c0 < v AND c1 < v AND c2 < v. */
export function commonQ1(table: SelectTable, axis: readonly number[]): Axis {
  return common(table, axis, Q1_CONDITIONS, Q1_OUTPUT)
}

function common(
  table: SelectTable,
  axis: readonly number[],
  conditions: number,
  output: SelectionOutput,
): Axis {
  const columns = Array.from({ length: conditions }, (_, column) => column)
  const bounds = axis.map(boundOf)
  const counts = countRows(table.rows, { fixed: [], varied: columns }, bounds)
  return axis.map((selectivity, i) => ({
    selectivity,
    table,
    conditions: columns.map((column) => below(column, bounds[i]!)),
    selectivities: columns.map(() => selectivity),
    matchedBytes: columns.map(() => 0),
    output,
    count: counts[i]!,
  }))
}

/** Q1 with the first and the third condition fixed. */
function variedSecond(table: SelectTable, axis: readonly number[]): Axis {
  const bounds = axis.map(boundOf)
  const [first, third] = [boundOf(FIRST), boundOf(THIRD)]
  const fixed = [
    { column: 0, bound: first },
    { column: 2, bound: third },
  ]
  const counts = countRows(table.rows, { fixed, varied: [1] }, bounds)
  return axis.map((selectivity, i) => ({
    selectivity,
    table,
    conditions: [below(0, first), below(1, bounds[i]!), below(2, third)],
    selectivities: [FIRST, selectivity, THIRD],
    matchedBytes: [0, 0, 0],
    output: Q1_OUTPUT,
    count: counts[i]!,
  }))
}

/** Q1 with the second and the third condition fixed; the third may be a substring match. */
function variedFirst(
  table: SelectTable,
  axis: readonly number[],
  match: { readonly column: number; readonly length: number } | undefined,
): Axis {
  const bounds = axis.map(boundOf)
  const half = boundOf(FIXED)
  const second = { column: 1, bound: half }
  const fixed = match === undefined ? [second, { column: 2, bound: half }] : [second]
  const counts = countRows(table.rows, { fixed, varied: [0], matched: match?.column }, bounds)
  const third: Condition = match === undefined ? below(2, half) : matches(match.column)
  return axis.map((selectivity, i) => ({
    selectivity,
    table,
    conditions: [below(0, bounds[i]!), below(1, half), third],
    selectivities: [selectivity, FIXED, FIXED],
    matchedBytes: [0, 0, match?.length ?? 0],
    output: Q1_OUTPUT,
    count: counts[i]!,
  }))
}
