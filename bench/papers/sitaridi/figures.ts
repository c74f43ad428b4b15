import type { Condition, SelectionOutput } from '../../../gpu/relational/selection/selection-types.js'
import { warmUp } from '../../warm-up.js'
import type { Measured, PlanBench, PlanTime, Question } from './measure-plans.js'
import type { SelectBench } from './setting.js'
import { below, boundOf, countRows, matches, randomTable, type SelectTable } from './workload.js'

/** One point of a figure. */
export interface Point extends Measured {
  /** Of the paper, with what tells its diagrams apart. */
  readonly figure: string
  readonly selectivity: number
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
export async function measureFigures(setting: SelectBench, bench: PlanBench): Promise<Point[]> {
  const { device, primitives, rows, smallRows, quick } = setting
  const grid = GRIDS[quick ? 'quick' : 'full']
  const points: Point[] = []
  const large = await randomTable(device, rows, Q2_CONDITIONS)
  try {
    points.push(...(await measureAlong(setting, bench, 'Figure 2', commonQ2(large, grid.linear))))
    points.push(...(await measureAlong(setting, bench, 'Figure 7', commonQ1(large, grid.logarithmic))))
    points.push(...(await measureAlong(setting, bench, 'Figure 8', variedSecond(large, grid.linear))))
  } finally {
    large.destroy()
  }
  const small = await randomTable(device, smallRows, Q2_CONDITIONS, LENGTHS)
  try {
    await warmUp(device, primitives)
    const last = [undefined, ...LENGTHS.map((length, i) => ({ column: Q2_CONDITIONS + i, length }))]
    for (const match of last) {
      const name = match === undefined ? 'integers' : `strings of ${match.length}`
      const questions = variedFirst(small, grid.logarithmic, match)
      points.push(...(await measureAlong(setting, bench, `Figure 3, ${name}`, questions)))
    }
  } finally {
    small.destroy()
  }
  return points
}

/** A question for each selectivity of an axis. */
type Axis = readonly (Question & { readonly selectivity: number })[]

async function measureAlong(
  { device, primitives }: SelectBench,
  bench: PlanBench,
  figure: string,
  axis: Axis,
): Promise<Point[]> {
  const points: Point[] = []
  // The host has counted rows, and the device done nothing.
  await warmUp(device, primitives)
  for (const { selectivity, ...question } of axis) {
    points.push({ figure, selectivity, ...(await bench.measure(question)) })
  }
  return points
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

/** What is kept of points: every plan's times, without the plans. */
export function keptPoints(points: readonly Point[]): object[] {
  const times = ({ name, ms, wall, estimated }: PlanTime) => ({ name, ms, wall, estimated })
  return points.map(({ figure, selectivity, plans, chosen, best }) => ({
    figure,
    selectivity,
    chosen: times(chosen),
    best: best.name,
    plans: plans.map(times),
  }))
}
