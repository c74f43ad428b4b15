import { AREA, colour, element, escaped, picture, prefixed, text } from './svg.js'

/** Bars of stacked parts over a linear axis; all values are zero or positive. */
export interface BarChart {
  readonly title: string
  /** Names of the axes. */
  readonly x: string
  readonly y: string
  /** Names of the parts, the lowest first. */
  readonly parts: readonly string[]
  readonly bars: readonly { readonly name: string; readonly values: readonly number[] }[]
}

/** The chart as SVG. */
export function barChart(chart: BarChart): string {
  const { parts, bars } = chart
  const highest = Math.max(...bars.map(({ values }) => values.reduce((sum, value) => sum + value, 0)), 1e-9)
  const step = niceStep(highest / 5)
  const steps = Math.ceil(highest / step)
  const { left, right, top, bottom } = AREA
  const height = (value: number) => (value / (steps * step)) * (bottom - top)
  const grid = Array.from({ length: steps + 1 }, (_, i) => {
    const y = bottom - height(i * step)
    const label = i === 0 ? '0' : prefixed(i * step)
    return (
      element('line', { x1: left, y1: y, x2: right, y2: y, stroke: '#dddddd' }) +
      text(label, left - 8, y + 4, { 'text-anchor': 'end' })
    )
  })
  const width = (right - left) / Math.max(1, bars.length)
  const drawn = bars.map(({ name, values }, bar) => {
    let y = bottom
    const x = left + (bar + 0.2) * width
    const boxes = values.map((value, part) => {
      y -= height(value)
      const box = { x, y, width: 0.6 * width, height: height(value), fill: colour(part) }
      const label = `${name}, ${parts[part]}: ${value.toPrecision(3)}`
      return element('rect', box, element('title', {}, escaped(label)))
    })
    return element('g', {}, ...boxes, barName(name, x + 0.3 * width))
  })
  const legend = parts.map((part, i) => {
    const [x, y] = [right + 16, top + 4 + 20 * (parts.length - 1 - i)]
    return element('rect', { x, y, width: 14, height: 14, fill: colour(i) }) + text(part, x + 22, y + 12)
  })
  return picture(chart.title, chart, [...grid, ...drawn, ...legend])
}

/** Long names are broken at their commas. */
function barName(name: string, x: number): string {
  const lines = name.split(', ')
  return lines
    .map((line, i) => text(line, x, AREA.bottom + 14 + 11 * i, { 'text-anchor': 'middle', 'font-size': 10 }))
    .join('')
}

/** The first of 1, 2 and 5 times a power of ten that is not smaller. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least))
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10)
}
