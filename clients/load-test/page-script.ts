import type uPlot from 'uplot'
import type { LoadTestReport } from './report.js'

/**
 * Draws the plots of a report's page, in the browser. The page has the text of this function, so it refers to nothing outside of
 * itself.
 */
export function drawReport(report: LoadTestReport, Plot: typeof uPlot): void {
  const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#000000', '#56b4e9']
  const prefixed = (value: number) => {
    const prefixes = ['', 'k', 'M', 'G']
    const power = Math.min(3, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)))
    return `${Number((value / 1000 ** power).toPrecision(3))}${prefixes[power]}`
  }
  const draw = (
    id: string,
    data: uPlot.AlignedData,
    names: readonly string[],
    axes: (uPlot.Axis & { readonly label: string })[],
    scales: uPlot.Scales,
    shown: (x: number) => string,
  ) => {
    const place = document.getElementById(id)
    if (place === null) return
    const series = names.map((label, i) => ({
      label,
      stroke: colours[i % colours.length],
      width: 2,
      spanGaps: true,
      value: (_: uPlot, value: number | null) => (value === null ? '–' : prefixed(value)),
    }))
    const xSeries = {
      label: axes[0].label,
      value: (_: uPlot, x: number | null) => (x === null ? '–' : shown(x)),
    }
    const size = () => ({ width: Math.max(280, place.clientWidth), height: 300 })
    const plot = new Plot({ ...size(), series: [xSeries, ...series], axes, scales }, data, place)
    window.addEventListener('resize', () => plot.setSize(size()))
  }
  const values = (_: uPlot, ticks: number[]) => ticks.map((tick) => (tick === null ? '' : prefixed(tick)))
  const seconds = { label: 'seconds' }
  const second = (x: number) => x.toFixed(2)
  const { intervals } = report
  const times = intervals.map((interval) => interval.seconds)
  draw(
    'throughput',
    [times, intervals.map(({ itemsPerSecond }) => itemsPerSecond)],
    ['keys/s'],
    [seconds, { label: 'keys/s', values, size: 70 }],
    { x: { time: false }, y: { range: (_, __, most) => [0, Math.max(1, 1.1 * most)] } },
    second,
  )
  const answered = (of: (interval: (typeof intervals)[number]) => number) =>
    intervals.map((interval) => (interval.requestsPerSecond > 0 ? of(interval) : null))
  const logarithmic = { label: 'ms', values, size: 70 }
  draw(
    'latency',
    [times, answered(({ p50 }) => p50), answered(({ p99 }) => p99), answered(({ max }) => max)],
    ['p50', 'p99', 'slowest'],
    [seconds, logarithmic],
    { x: { time: false }, y: { distr: 3 } },
    second,
  )
  const curves = Object.entries(report.operations)
  // The x axis counts nines: 1 is 90 %, 2 is 99 %; the slowest request of all has as many as there are digits of requests.
  const nines = (percentile: number, requests: number) =>
    percentile === 100 ? Math.log10(requests) : -Math.log10(1 - percentile / 100)
  const share = (x: number) => `${Number((100 * (1 - 10 ** -x)).toFixed(Math.max(0, Math.ceil(x) - 2)))} %`
  const points = curves.map(([, { curve, requests }]) =>
    curve.map(({ percentile, ms }) => [nines(percentile, requests), ms] as const),
  )
  const places = [...new Set(points.flat().map(([x]) => x))].sort((a, b) => a - b)
  const columns = points.map((curve) => {
    const found = new Map(curve)
    return places.map((x) => found.get(x) ?? null)
  })
  draw(
    'percentiles',
    [places, ...columns],
    curves.map(([name]) => name),
    [
      {
        label: 'share of the requests',
        splits: (_, __, least, most) =>
          Array.from({ length: Math.floor(most) - Math.ceil(least) + 1 }, (_, i) => Math.ceil(least) + i),
        values: (_, ticks) => ticks.map(share),
      },
      logarithmic,
    ],
    { x: { time: false }, y: { distr: 3 } },
    share,
  )
}
