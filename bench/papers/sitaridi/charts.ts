import { lineChart, type Series } from '../../plot/line-chart.js'
import type { Row } from '../../report.js'
import type { PlanFigures, PointRow } from './figures.js'

/** A line of a chart: what its value is at a point, if it has one there. */
interface Line {
  readonly name: string
  value(point: PointRow): number | undefined
}

const AXIS = 'selectivity'
const MS = 'milliseconds'

/** Charts of what was measured and estimated, by file name, numbered as in the paper; those of which there are rows. */
export function drawCharts(adapter: string, rows: readonly Row[]): Map<string, string> {
  const charts = new Map<string, string>()
  const draw = (
    file: string,
    title: string,
    figure: string,
    lines: (some: readonly PointRow[]) => readonly Line[],
  ) => {
    const some = pointsOf(rows, figure)
    if (some.length === 0) return
    const series = lines(some).map(({ name, value }): Series => {
      const placed = some.map((point) => ({ x: point.selectivity, y: value(point) }))
      const known = placed.flatMap(({ x, y }) => (y === undefined || !(y > 0) ? [] : [{ x, y }]))
      return { name, points: known, missing: [] }
    })
    charts.set(`select-${file}.svg`, lineChart({ title: `${title}, ${adapter}`, x: AXIS, y: MS, series }))
  }
  const singles = (of: 'ms' | 'estimated') => (some: readonly PointRow[]) => single(some, of)
  const several = (what: 'rows' | 'columns', of: 'ms' | 'estimated' = 'ms') => {
    return (some: readonly PointRow[]) => kernels(some, what, of)
  }
  draw('figure-2', 'Figure 2: Q2, measured', 'Figure 2', singles('ms'))
  draw('figure-2-by-row', 'Figure 2: Q2, branches by row', 'Figure 2 by row', singles('ms'))
  draw('figure-5', 'Figure 5: Q2, estimated', 'Figure 2', singles('estimated'))
  draw('figure-7', 'Figure 7: Q1, measured', 'Figure 7', several('rows'))
  draw('figure-7-estimated', 'Figure 7: Q1, estimated', 'Figure 7', several('rows', 'estimated'))
  draw('figure-8-single', 'Figure 8: Q1, one kernel', 'Figure 8', singles('ms'))
  draw('figure-8-rows', 'Figure 8: Q1, row numbers handed on', 'Figure 8', several('rows'))
  draw('figure-8-columns', 'Figure 8: Q1, columns handed on', 'Figure 8', several('columns'))
  draw('figure-3-integers', 'Figure 3: integers', 'Figure 3, integers', several('rows'))
  draw('figure-3-strings-8', 'Figure 3: strings of 8', 'Figure 3, strings of 8', several('rows'))
  draw('figure-3-strings-16', 'Figure 3: strings of 16', 'Figure 3, strings of 16', several('rows'))
  const optimiser = optimiserChart(adapter, rows)
  if (optimiser !== undefined) charts.set('select-figure-9.svg', optimiser)
  return charts
}

function pointsOf(rows: readonly (Row & Partial<PointRow>)[], figure: string): PointRow[] {
  return rows.flatMap((row) => {
    const { selectivity, plans } = row
    const isOfFigure = row.name.startsWith(`${figure}, selectivity `)
    return isOfFigure && selectivity !== undefined && plans !== undefined
      ? [{ ...row, selectivity, plans }]
      : []
  })
}

/** A line for each plan of one kernel. */
function single(points: readonly PointRow[], of: 'ms' | 'estimated'): Line[] {
  const names = points[0]!.plans.map(({ name }) => name).filter((name) => name.startsWith('S'))
  return names.map((name) => ({
    name,
    value: ({ plans }) => plans.find((plan) => plan.name === name)?.[of],
  }))
}

/** A line for each way of distributing conditions over kernels: the fastest plan that was measured of each. */
function kernels(points: readonly PointRow[], what: 'rows' | 'columns', of: 'ms' | 'estimated'): Line[] {
  const shapes = [...new Set(points[0]!.plans.map(kernelShape))]
  return shapes.map((shape) => ({
    name: shape,
    value: ({ plans }) => {
      const some = plans.filter((plan) => kernelShape(plan) === shape && handsOnly(plan, what))
      if (some.length === 0) return undefined
      return some.reduce((one, other) => (other.ms < one.ms ? other : one))[of]
    },
  }))
}

/** The numbers of conditions of a plan's kernels, as in K21; K3 for a plan of one kernel, such as S12. */
function kernelShape({ name }: PlanFigures): string {
  const [shape] = name.split(/[ ,]/) as [string]
  if (shape.startsWith('K')) return shape
  return `K${[...shape.slice(1)].reduce((sum, digit) => sum + Number(digit), 0)}`
}

/** Whether all of a plan's kernels hand on the same: its name ends in what they do. */
function handsOnly({ name }: PlanFigures, what: 'rows' | 'columns'): boolean {
  const [, ...handed] = name.replace(/ \(.*\)/, '').split(', ')
  return handed.every((one) => one === what)
}

function optimiserChart(adapter: string, rows: readonly Row[]): string | undefined {
  const points = rows.flatMap(({ name, figures }) => {
    const conditions = /^Figure 9, (\d+)/.exec(name)?.[1]
    return conditions === undefined ? [] : [{ x: Number(conditions), y: Number(figures.µs) }]
  })
  if (points.length === 0) return undefined
  const title = `Figure 9: the optimiser, beside ${adapter}`
  const series = [{ name: 'optimiser', points, missing: [] }]
  return lineChart({ title, x: 'conditions', y: 'microseconds', series })
}
