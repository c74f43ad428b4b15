import { lineChart, type Series } from '../../plot/line-chart.js'
import type { Row } from '../../report.js'

/** A chart over the numbers of tuples: the rows whose names begin so, and the figure of each. */
interface Chart {
  readonly file: string
  readonly title: string
  readonly rows: string
  readonly figure: string
  readonly y: string
}

const CHARTS: readonly Chart[] = [
  {
    file: 'relational-partition.svg',
    title: 'Figure 14, recursive partitioning',
    rows: 'partition, ',
    figure: 'µs',
    y: 'microseconds',
  },
  {
    file: 'relational-discarded.svg',
    title: 'Figure 15, discarded by streaming blocks',
    rows: 'stream blocks, ',
    figure: 'discarded %',
    y: '% of tuples',
  },
  {
    file: 'relational-streaming.svg',
    title: 'Figure 16, streaming blocks',
    rows: 'stream blocks, ',
    figure: 'GB/s',
    y: 'GB/s',
  },
]

/** Diamos' Figures 14 to 16 by file name; a line for each distribution of keys. */
export function drawCharts(adapter: string, rows: readonly Row[]): Map<string, string> {
  const charts = new Map<string, string>()
  for (const { file, title, rows: beginning, figure, y } of CHARTS) {
    const own = rows.filter(({ name }) => name.startsWith(beginning))
    if (own.length === 0) continue
    const series = seriesOf(
      own.map(({ name, figures }) => ({
        name: name.slice(beginning.length),
        value: Number(figures[figure]),
      })),
    )
    charts.set(file, lineChart({ title: `${title}, ${adapter}`, x: 'tuples of a relation', y, series }))
  }
  return charts
}

/** Names end in the number of tuples, as `, 2^n`. */
function seriesOf(values: readonly { readonly name: string; readonly value: number }[]): Series[] {
  const series = new Map<string, Series>()
  for (const { name, value } of values) {
    const [, distribution, logarithm] = /^(.*), 2\^(\d+)$/.exec(name)!
    const x = 2 ** Number(logarithm)
    const { points, missing } = series.get(distribution!) ?? { points: [], missing: [] }
    // Axes are logarithmic.
    series.set(distribution!, {
      name: distribution!,
      points: value > 0 ? [...points, { x, y: value }] : points,
      missing: value > 0 ? missing : [...missing, { x, reason: 'none' }],
    })
  }
  return [...series.values()]
}
