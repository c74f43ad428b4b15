import { barChart } from '../../plot/bar-chart.js'
import { lineChart, type Series } from '../../plot/line-chart.js'
import type { Row } from '../../report.js'
import { drawPrimitiveCharts } from './primitive-charts.js'

/** Stages in the order in which they come. */
const STAGES = ['sort', 'partition', 'index', 'match', 'count', 'scan', 'write']

/** The charts of what was measured, by file name. */
export function drawCharts(adapter: string, rows: readonly Row[]): Map<string, string> {
  const charts = new Map<string, string>()
  const stages = rows.filter(({ name }) => name.startsWith('Figure 12'))
  if (stages.length > 0) {
    const bars = stages.map(({ name, figures }) => ({
      name: name.replace('Figure 12, ', '').replace(', ms', ''),
      values: STAGES.map((stage) => Number(figures[stage] ?? 0)),
    }))
    const title = `Stages of joins, ${adapter}`
    charts.set('joins-stages.svg', barChart({ title, x: '', y: 'milliseconds', parts: STAGES, bars }))
  }
  drawVaried(charts, adapter, rows, 'selectivity')
  drawVaried(charts, adapter, rows, 'duplicates')
  for (const [file, chart] of drawPrimitiveCharts(adapter, rows)) charts.set(file, chart)
  return charts
}

/** He's Figure 13; nothing is drawn at a share of 0, since axes are logarithmic. */
function drawVaried(
  charts: Map<string, string>,
  adapter: string,
  all: readonly Row[],
  what: 'selectivity' | 'duplicates',
): void {
  const rows = all
    .filter(({ name }) => name.startsWith('Figure 13') && !name.includes('ninlj') && name.includes(what))
    .map(({ name, figures }) => ({ share: Number(name.split(' ').at(-1)), figures }))
    .filter(({ share }) => share > 0)
  if (rows.length === 0) return
  const series = ['inlj', 'smj', 'hj'].map(
    (algorithm): Series => ({
      name: algorithm,
      points: rows.map(({ share, figures }) => ({ x: 100 * share, y: Number(figures[`${algorithm} ms`]) })),
      missing: [],
    }),
  )
  const x = what === 'selectivity' ? '% of left rows that match' : '% of left rows with one key'
  charts.set(`joins-${what}.svg`, lineChart({ title: `Joins, ${adapter}`, x, y: 'milliseconds', series }))
}
