import { type LineChart, lineChart, type Series } from '../plot/line-chart.js'
import { Kept } from './kept.js'

/** A picture in a document whose points come from a kept file. */
interface Chart {
  /** Below `bench/results`, as `from`. */
  readonly path: string
  readonly from: string
  points(kept: Kept): LineChart
}

/** How many requests each of eight clients has in flight, by the keys of a batch. */
const DEPTHS = [
  [10_000, 16],
  [65_536, 8],
  [262_144, 4],
] as const
const BATCHES = [1, 100, 1000, 10_000, 65_536, 262_144]

/** Lines of the chart of throughput, and their rows by the keys of a batch. */
const LINES: readonly (readonly [name: string, rows: readonly (readonly [batch: number, row: string])[]])[] =
  [
    ['one client, 1 request in flight', BATCHES.map((batch) => [batch, `batches of ${batch}, depth 1`])],
    ['one client, 8 in flight', BATCHES.map((batch) => [batch, `batches of ${batch}, depth 8`])],
    [
      'eight clients, 4 to 16 in flight',
      DEPTHS.map(([batch, depth]) => [batch, `batches of ${batch}, depth ${depth}, 8 clients`]),
    ],
  ]

export const CHARTS: readonly Chart[] = [
  {
    path: 'nvidia-h200/serve-throughput.svg',
    from: 'nvidia-h200/serve.json',
    points: (kept) => ({
      title: 'Lookups over WebSocket, clients and server on one host, NVIDIA H200',
      x: 'keys per batch',
      y: 'lookups per second',
      series: LINES.map(([name, rows]): Series => {
        const points = rows.flatMap(([x, row]) => {
          const y = kept.figure(row, 'lookups/s')
          return y === undefined ? [] : [{ x, y }]
        })
        return { name, points, missing: [] }
      }),
    }),
  },
]

/** Draws a chart from its kept file. */
export function draw(chart: Chart, folder: string): string {
  return lineChart(chart.points(Kept.read(folder, chart.from)))
}
