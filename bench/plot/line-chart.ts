import { AREA, colour, dashes, element, escaped, picture, prefixed, text } from './svg.js'

export interface Point {
  readonly x: number
  readonly y: number
}

/** A place on the x axis for which a series has no value, and why. */
export interface MissingPoint {
  readonly x: number
  readonly reason: string
}

export interface Series {
  readonly name: string
  readonly points: readonly Point[]
  readonly missing: readonly MissingPoint[]
}

/** Lines over two logarithmic axes; all values are positive. */
export interface LineChart {
  readonly title: string
  /** Names of the axes. */
  readonly x: string
  readonly y: string
  readonly series: readonly Series[]
}

/** The chart as SVG. Missing values are crosses at the upper edge, which tell their reasons when pointed at. */
export function lineChart(chart: LineChart): string {
  const { series } = chart
  const points = series.flatMap((one) => one.points)
  const missing = series.flatMap((one) => one.missing)
  const x = new LogAxis(
    [...points, ...missing].map((point) => point.x),
    AREA.left,
    AREA.right,
  )
  const y = new LogAxis(
    points.map((point) => point.y),
    AREA.bottom,
    AREA.top,
  )
  return picture(chart.title, chart, [
    ...x.ticks().map((tick) => verticalTick(tick, x.at(tick))),
    ...y.ticks().map((tick) => horizontalTick(tick, y.at(tick))),
    frame(),
    ...series.map((one, i) => drawSeries(one, i, x, y)),
    ...series.map((one, i) => legendEntry(one, i)),
  ])
}

/** Places values between two pixels by their logarithms. */
class LogAxis {
  readonly #low: number
  readonly #high: number
  readonly #first: number
  readonly #last: number

  constructor(values: readonly number[], first: number, last: number) {
    this.#low = Math.log10(Math.min(...values, Number.MAX_VALUE))
    this.#high = Math.log10(Math.max(...values, Number.MIN_VALUE))
    // Without values, or with one only, there is no distance to go by.
    if (!(this.#high - this.#low > 1e-6)) {
      const middle = values.length > 0 ? this.#low : 0
      this.#low = middle - 0.5
      this.#high = middle + 0.5
    }
    const margin = (this.#high - this.#low) * 0.04
    this.#low -= margin
    this.#high += margin
    this.#first = first
    this.#last = last
  }

  at(value: number): number {
    const part = (Math.log10(value) - this.#low) / (this.#high - this.#low)
    return this.#first + part * (this.#last - this.#first)
  }

  /** Powers of ten, and twice and five times them where there are few. */
  ticks(): number[] {
    const factors = this.#high - this.#low > 3 ? [1] : [1, 2, 5]
    const ticks: number[] = []
    for (let power = Math.floor(this.#low); power <= this.#high; power++) {
      for (const factor of factors) {
        const log = power + Math.log10(factor)
        if (log >= this.#low && log <= this.#high) ticks.push(factor * 10 ** power)
      }
    }
    return ticks
  }
}

const GRID = '#dddddd'

function verticalTick(value: number, x: number): string {
  const { top, bottom } = AREA
  return (
    element('line', { x1: x, y1: top, x2: x, y2: bottom, stroke: GRID }) +
    text(prefixed(value), x, bottom + 18, { 'text-anchor': 'middle' })
  )
}

function horizontalTick(value: number, y: number): string {
  const { left, right } = AREA
  return (
    element('line', { x1: left, y1: y, x2: right, y2: y, stroke: GRID }) +
    text(prefixed(value), left - 8, y + 4, { 'text-anchor': 'end' })
  )
}

function frame(): string {
  const { left, top, right, bottom } = AREA
  return element('rect', {
    x: left,
    y: top,
    width: right - left,
    height: bottom - top,
    fill: 'none',
    stroke: 'black',
  })
}

function drawSeries({ name, points, missing }: Series, i: number, x: LogAxis, y: LogAxis): string {
  const stroke = colour(i)
  const places = points.map((point) => `${x.at(point.x).toFixed(1)},${y.at(point.y).toFixed(1)}`)
  const line = {
    points: places.join(' '),
    fill: 'none',
    stroke,
    'stroke-width': 2,
    'stroke-dasharray': dashes(i),
  }
  const dots = points.map((point) => {
    const label = `${name}: ${prefixed(point.x)}, ${point.y.toPrecision(3)}`
    const dot = { cx: x.at(point.x), cy: y.at(point.y), r: 3, fill: stroke }
    return element('circle', dot, element('title', {}, escaped(label)))
  })
  const crosses = missing.map((point) => {
    // Those of several series stand side by side.
    const [cx, cy, r] = [x.at(point.x), AREA.top + 8 + 10 * i, 4]
    const d = `M${cx - r} ${cy - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`
    const label = `${name}: ${point.reason}`
    return element('path', { d, stroke, 'stroke-width': 2 }, element('title', {}, escaped(label)))
  })
  return element('g', {}, element('polyline', line), ...dots, ...crosses)
}

function legendEntry({ name, missing }: Series, i: number): string {
  const [x, y] = [AREA.right + 16, AREA.top + 10 + 20 * i]
  const line = {
    x1: x,
    y1: y,
    x2: x + 24,
    y2: y,
    stroke: colour(i),
    'stroke-width': 2,
    'stroke-dasharray': dashes(i),
  }
  const label = missing.length > 0 ? `${name} (×: omitted)` : name
  return element('line', line) + text(label, x + 32, y + 4)
}
