import { dirname, join } from 'node:path'
import { drawCharts as drawDiamos } from '../papers/diamos/charts.js'
import { drawCharts as drawHe } from '../papers/he/charts.js'
import type { PartRow } from '../papers/parts.js'
import { drawCharts as drawSitaridi } from '../papers/sitaridi/charts.js'
import { drawCharts as drawVolk } from '../papers/volk/charts.js'
import type { FigureRow } from '../papers/volk/figures.js'
import { type LineChart, lineChart, type Series } from '../plot/line-chart.js'
import type { Row } from '../report.js'
import { Kept } from './kept.js'
import { type KeptPeers, lookupRate, PEER_BATCHES, PEERS } from './peers.js'

/** Pictures in documents whose points come from one kept file. */
interface Charts {
  /** Below `bench/results`. */
  readonly from: string
  /** What is drawn, by the file's name beside the kept one. */
  draw(kept: Kept): ReadonlyMap<string, string>
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

function throughput(kept: Kept): LineChart {
  const series = LINES.map(([name, rows]): Series => {
    const points = rows.flatMap(([x, row]) => {
      const y = kept.figure(row, 'lookups/s')
      return y === undefined ? [] : [{ x, y }]
    })
    return { name, points, missing: [] }
  })
  const title = 'Lookups over WebSocket, clients and server on one host, NVIDIA H200'
  return { title, x: 'keys per batch', y: 'lookups per second', series }
}

/** The same batches by warpdex and its peers. */
function besidePeers({ content }: Kept): LineChart {
  const series = PEERS.map((name): Series => {
    const points = PEER_BATCHES.flatMap((x) => {
      const y = lookupRate(content as KeptPeers, x, name)
      return y === undefined ? [] : [{ x, y }]
    })
    return { name, points, missing: [] }
  })
  const title = 'Lookups of a million u64 keys, one client on the same host, NVIDIA H200 and 16 cores'
  return { title, x: 'keys per batch', y: 'lookups per second', series }
}

/** The charts of a paper's evaluation. */
function evaluation<Kind extends Row>(
  from: string,
  draw: (adapter: string, rows: readonly Kind[]) => ReadonlyMap<string, string>,
): Charts {
  return {
    from,
    draw: ({ content }) => {
      const { adapter, rows } = content as { readonly adapter: string; readonly rows: readonly Kind[] }
      return draw(adapter, rows)
    },
  }
}

const CHARTS: readonly Charts[] = [
  {
    from: 'nvidia-h200/serve.json',
    draw: (kept) => new Map([['serve-throughput.svg', lineChart(throughput(kept))]]),
  },
  {
    from: 'nvidia-h200/peers.json',
    draw: (kept) => new Map([['peers-throughput.svg', lineChart(besidePeers(kept))]]),
  },
  evaluation('nvidia-h200/joins.json', drawHe),
  evaluation('nvidia-h200/relational.json', drawDiamos),
  evaluation('nvidia-h200/select.json', drawSitaridi),
  evaluation<FigureRow & PartRow>('speculation/nvidia-h200/figures.json', drawVolk),
]

/** A chart as its kept file has it. */
export interface Drawn {
  /** Below `bench/results`, as `from`. */
  readonly path: string
  readonly from: string
  readonly picture: string
}

/** Draws all charts from their kept files. */
export function drawAll(folder: string): Drawn[] {
  return CHARTS.flatMap(({ from, draw }) =>
    [...draw(Kept.read(folder, from))].map(([file, picture]) => ({
      path: join(dirname(from), file),
      from,
      picture,
    })),
  )
}
