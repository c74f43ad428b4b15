import { barChart } from '../../plot/bar-chart.js'
import { lineChart, type MissingPoint, type Point, type Series } from '../../plot/line-chart.js'
import type { PartRow } from '../parts.js'
import type { FigureRow } from './figures.js'

const TITLES = {
  a: 'A new partition with every key',
  b: 'Minimal tree',
  c: 'Addresses with a shared head',
} as const

const TIME = 'microseconds a lookup'

type ChartedRow = FigureRow & PartRow

/** The charts of what was measured, by file name. */
export function drawCharts(adapter: string, rows: readonly ChartedRow[]): Map<string, string> {
  const charts = new Map<string, string>()
  for (const figure of ['a', 'b', 'c'] as const) {
    const single = rows.filter((row) => row.part === figure && row.batch === 1)
    const series = seriesOf(single, (row) => row.keys)
    const title = `${TITLES[figure]}: one lookup, ${adapter}`
    if (single.length > 0) charts.set(`8${figure}.svg`, lineChart({ title, x: 'keys', y: TIME, series }))
  }
  drawHeights(charts, adapter, rows)
  drawMemory(charts, adapter, rows)
  drawStages(charts, adapter, rows)
  drawBatches(charts, adapter, rows)
  return charts
}

function drawHeights(charts: Map<string, string>, adapter: string, all: readonly ChartedRow[]): void {
  const rows = all.filter(({ part }) => part === 'd')
  if (rows.length === 0) return
  const title = `Levels of a partition: one lookup among ${rows[0]!.keys} keys, ${adapter}`
  const series = seriesOf(rows, (row) => row.levels ?? 0)
  charts.set('8d.svg', lineChart({ title, x: 'levels of a partition', y: TIME, series }))
}

function drawMemory(charts: Map<string, string>, adapter: string, all: readonly ChartedRow[]): void {
  const rows = all.filter(({ part }) => part === 'e')
  if (rows.length === 0) return
  const series = seriesOf(rows, (row) => row.keys)
  charts.set('8e.svg', lineChart({ title: `Memory, ${adapter}`, x: 'keys', y: 'bytes', series }))
}

const STAGES = ['upload', 'launch', 'kernel', 'readback'] as const

function drawStages(charts: Map<string, string>, adapter: string, all: readonly ChartedRow[]): void {
  const rows = all.filter(({ part, batch, figures }) => part === 'f' && batch === 1 && 'kernel' in figures)
  if (rows.length === 0) return
  const bars = rows.map(({ name, figures }) => ({
    name: name.replace(/^8f /, '').replace(/, batch 1$/, ''),
    values: STAGES.map((stage) => Number(figures[stage])),
  }))
  const title = `Stages of one lookup among ${rows[0]!.keys} keys, ${adapter}`
  charts.set('8f.svg', barChart({ title, x: '', y: 'microseconds', parts: STAGES, bars }))
}

/** Time of one of a batch's lookups by the size of the batch, at the largest index of random keys. */
function drawBatches(charts: Map<string, string>, adapter: string, all: readonly ChartedRow[]): void {
  const random = all.filter(({ part }) => part === 'a')
  const keys = Math.max(...random.map((row) => row.keys))
  const rows = random.filter((row) => row.keys === keys)
  if (rows.length < 2) return
  const series = seriesOf(
    rows,
    (row) => row.batch,
    (value, row) => value / row.batch,
  )
  const title = `Batches of lookups among ${keys} random keys, ${adapter}`
  charts.set('batches.svg', lineChart({ title, x: 'keys of a batch', y: TIME, series }))
}

/** A series for each subject, over `x`. */
function seriesOf(
  rows: readonly FigureRow[],
  x: (row: FigureRow) => number,
  y: (value: number, row: FigureRow) => number = (value) => value,
): Series[] {
  const names = new Set(rows.flatMap(({ figures }) => Object.keys(figures)))
  return [...names].map((name) => {
    const points: Point[] = []
    const missing: MissingPoint[] = []
    for (const row of rows) {
      const cell = row.figures[name]
      if (typeof cell === 'number') points.push({ x: x(row), y: y(cell, row) })
      else if (cell !== undefined) missing.push({ x: x(row), reason: cell })
    }
    return { name, points, missing }
  })
}
