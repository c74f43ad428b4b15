import { barChart } from '../../plot/bar-chart.js'
import { lineChart, type MissingPoint, type Series } from '../../plot/line-chart.js'
import type { Row } from '../../report.js'

/** The charts of He's Figures 7 to 10 and 15, by file name; those of which there are rows. */
export function drawPrimitiveCharts(adapter: string, rows: readonly Row[]): Map<string, string> {
  const charts = new Map<string, string>()
  const of = (beginning: string) => rows.filter(({ name }) => name.startsWith(beginning))
  const draw = (file: string, title: string, x: string, y: string, series: readonly Series[]) => {
    if (series.every(({ points }) => points.length === 0)) return
    charts.set(file, lineChart({ title: `${title}, ${adapter}`, x, y, series }))
  }

  const lengths = of('Figure 7, map by 16 ×')
  draw(
    'joins-access.svg',
    'Map by 16 × 32 invocations',
    'words',
    'GB/s',
    ['coalesced', 'not coalesced'].map((order) => line(order, lengths, 'words', `${order} GB/s`)),
  )
  const workgroups = of('Figure 8,')
  draw(
    'joins-workgroups.svg',
    'Workgroups of 32 invocations',
    'workgroups',
    'microseconds',
    ['map', 'split'].map((primitive) => line(primitive, workgroups, 'workgroups', `${primitive} µs`)),
  )
  draw(
    'joins-invocations.svg',
    'Invocations of a workgroup',
    'invocations',
    'microseconds',
    ['map', 'split'].map((primitive) =>
      line(primitive, of(`Figure 9, ${primitive} `), 'invocations', `${primitive} µs`),
    ),
  )
  const bars = of('Figure 10,').flatMap(memoryBars)
  if (bars.length > 0) {
    const title = `Workgroup memory, ${adapter}`
    charts.set('joins-memory.svg', barChart({ title, x: '', y: 'milliseconds', parts: ['time'], bars }))
  }
  const strings = of('Figure 15,')
  const kinds = [...new Set(strings.map(({ name }) => name.split(', ')[1]!))]
  draw(
    'joins-strings.svg',
    'Sorting strings',
    'bytes on average',
    'milliseconds',
    kinds.flatMap((kind) => {
      const own = of(`Figure 15, ${kind},`)
      return [
        line(`host, ${kind}`, own, 'bytes', 'host ms'),
        line(`device, ${kind}`, own, 'bytes', 'wall ms'),
      ]
    }),
  )
  return charts
}

function line(name: string, rows: readonly Row[], x: string, y: string): Series {
  const points: { x: number; y: number }[] = []
  const missing: MissingPoint[] = []
  for (const { figures } of rows) {
    const [at, value] = [Number(figures[x]), figures[y]]
    if (typeof value === 'number') points.push({ x: at, y: value })
    else missing.push({ x: at, reason: String(value) })
  }
  return { name, points, missing }
}

/** A primitive without workgroup memory and with it; what the kernels for subgroups add is in the table. */
function memoryBars({ name, figures }: Row): { name: string; values: number[] }[] {
  // Names of bars are broken at commas.
  const primitive = name.split(', ')[1]!.replace(' ', ', ')
  const without = figures['without µs'] ?? figures['serial µs']
  const withMemory = figures['with µs'] ?? figures['cooperative µs']
  if (typeof without !== 'number' || typeof withMemory !== 'number') return []
  return [
    { name: `${primitive}, without`, values: [without / 1e3] },
    { name: `${primitive}, with`, values: [withMemory / 1e3] },
  ]
}
