import type { HistoryField } from '../../observe/history.js'
import type { ServerStatus } from '../status.js'
import { make, setText } from './dom.js'
import { amount, bytes, microseconds } from './format.js'
import uPlot from './uplot.js'

interface Line {
  readonly label: string
  /** The figure of a second; null where there is none. */
  readonly value: (at: (field: HistoryField) => number) => number | null
}

interface PlotPlan {
  readonly title: string
  readonly show: (value: number) => string
  readonly lines: readonly Line[]
  readonly isLogarithmic?: boolean
  /** Whether round figures are powers of two. */
  readonly isBinary?: boolean
}

const figure = (label: string, field: HistoryField): Line => ({ label, value: (at) => at(field) })
/** Nothing was measured in a second without requests. */
const time = (label: string, field: HistoryField): Line => ({ label, value: (at) => at(field) || null })

const PLANS: readonly PlotPlan[] = [
  { title: 'Keys per second', show: amount, lines: [figure('keys', 'items')] },
  {
    title: 'Requests per second',
    show: amount,
    lines: [figure('all', 'requests'), figure('failed', 'failures')],
  },
  {
    title: 'Time of reads',
    show: microseconds,
    lines: [time('p50', 'readsP50'), time('p99', 'readsP99')],
    isLogarithmic: true,
  },
  {
    title: 'Time of writes',
    show: microseconds,
    lines: [time('p50', 'writesP50'), time('p99', 'writesP99')],
    isLogarithmic: true,
  },
  {
    title: 'Bytes per second',
    show: bytes,
    lines: [figure('in', 'bytesIn'), figure('out', 'bytesOut')],
    isBinary: true,
  },
  {
    title: 'Small reads per dispatch',
    show: amount,
    lines: [
      {
        label: 'reads',
        value: (at) => (at('dispatches') === 0 ? null : at('smallReads') / at('dispatches')),
      },
    ],
  },
]

const HEIGHT = 150
const SECONDS = 300
const POWERS_OF_TWO = Array.from({ length: 50 }, (_, i) => 2 ** i)

/** What the style sheet says; canvases know nothing of it. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}

/** One plot with its caption, in which the figures of the latest second stand, or of the one that is pointed at. */
class Plot {
  readonly element: HTMLElement
  readonly #plan: PlotPlan
  readonly #values: readonly HTMLElement[]
  readonly #canvas = make('div')
  #plot: uPlot | undefined
  #data: uPlot.AlignedData = [[]]

  constructor(plan: PlotPlan) {
    this.#plan = plan
    this.#values = plan.lines.map(() => make('b'))
    const items = plan.lines.map(({ label }, i) =>
      make('li', '', make('span', `swatch series-${i + 1}`), `${label} `, this.#values[i]),
    )
    const caption = make('figcaption', '', make('h3', '', plan.title), make('ul', '', ...items))
    this.element = make('figure', 'card plot', caption, this.#canvas)
    this.#canvas.setAttribute('role', 'img')
    this.#canvas.setAttribute('aria-label', `${plan.title} over the last five minutes`)
    new ResizeObserver(() => this.#resize()).observe(this.element)
  }

  update({ history, now }: ServerStatus): void {
    const { at } = history
    const columns = this.#plan.lines.map(({ value }) =>
      at.map((_, second) => value((field) => history[field][second])),
    )
    this.#data = [at.map((end) => end / 1000), ...columns]
    this.#plot?.setData(this.#data, false)
    this.#plot?.setScale('x', { min: now / 1000 - SECONDS, max: now / 1000 })
    this.#showValues()
  }

  /** Draws anew, with the colours that hold now. */
  restyle(): void {
    this.#plot?.destroy()
    this.#plot = undefined
    this.#resize()
  }

  #resize(): void {
    const width = this.#canvas.clientWidth
    if (width === 0) return
    if (this.#plot === undefined) this.#plot = new uPlot(this.#options(width), this.#data, this.#canvas)
    else if (this.#plot.width !== width) this.#plot.setSize({ width, height: HEIGHT })
  }

  #showValues(): void {
    const second = this.#plot?.cursor.idx ?? this.#data[0].length - 1
    this.#values.forEach((element, i) => {
      const value = this.#data[i + 1]?.[second]
      setText(element, value === null || value === undefined ? '–' : this.#plan.show(value))
    })
  }

  #options(width: number): uPlot.Options {
    const { show, lines, isLogarithmic = false, isBinary = false } = this.#plan
    const axis = {
      stroke: colour('muted'),
      font: '11px system-ui, sans-serif',
      grid: { stroke: colour('line'), width: 1 },
      ticks: { show: false },
    }
    const filled = !isLogarithmic && lines.length === 1
    return {
      width,
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, sync: { key: 'time' }, points: { size: 6 } },
      padding: [8, 4, 0, 0],
      scales: {
        x: { time: true },
        y: isLogarithmic
          ? { distr: 3, range: (_plot, least, most) => decades(least, most) }
          : { range: (_plot, _least, most) => [0, Math.max(1, (most ?? 0) * 1.1)] },
      },
      axes: [
        { ...axis, values: (_plot, ticks) => ticks.map((tick) => timeOfDay(tick)), space: 70, size: 28 },
        {
          ...axis,
          values: (_plot, ticks) => ticks.map((tick) => (tick === null ? '' : show(tick))),
          ...(isBinary ? { incrs: POWERS_OF_TWO } : {}),
          ...(isLogarithmic ? { splits: (_plot, _axis, least, most) => powersOfTen(least, most) } : {}),
          size: 62,
          space: 30,
        },
      ],
      series: [
        {},
        ...lines.map(({ label }, i) => ({
          label,
          stroke: colour(`series-${i + 1}`),
          width: 1.75,
          points: { size: 4 },
          ...(filled ? { fill: `${colour(`series-${i + 1}`)}26` } : {}),
        })),
      ],
      hooks: { setCursor: [() => this.#showValues()] },
    }
  }
}

/** Whole decades around what there is, or one without anything. */
function decades(least: number | null, most: number | null): [number, number] {
  if (least === null || most === null || least <= 0) return [100, 10_000]
  return [10 ** Math.floor(Math.log10(least)), 10 ** Math.ceil(Math.log10(most * 1.01))]
}

function powersOfTen(least: number, most: number): number[] {
  const first = Math.round(Math.log10(least))
  return Array.from({ length: Math.round(Math.log10(most)) - first + 1 }, (_, i) => 10 ** (first + i))
}

function timeOfDay(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
}

/** All plots. */
export class Plots {
  readonly #plots = PLANS.map((plan) => new Plot(plan))

  constructor(parent: HTMLElement) {
    parent.append(...this.#plots.map(({ element }) => element))
  }

  update(status: ServerStatus): void {
    for (const plot of this.#plots) plot.update(status)
  }

  restyle(): void {
    for (const plot of this.#plots) plot.restyle()
  }
}
