import type { HourField } from '../../observe/history.js'
import type { ServerStatus } from '../status.js'
import { byId, make, setText } from './dom.js'
import { amount, bytes, microseconds } from './format.js'
import { fetchTold, type Told } from './status-source.js'
import uPlot from './uplot.js'

interface Line {
  readonly label: string
  /** The figure of a second; null where there is none. */
  readonly value: (at: (field: HourField) => number) => number | null
  /** Whether it is of what failed. */
  readonly isBad?: boolean
}

interface PlotPlan {
  readonly title: string
  readonly show: (value: number) => string
  readonly lines: readonly Line[]
  readonly isLogarithmic?: boolean
  /** Whether round figures are powers of two. */
  readonly isBinary?: boolean
}

const figure = (label: string, field: HourField): Line => ({ label, value: (at) => at(field) })
/** Nothing was measured in a second without requests. */
const time = (label: string, field: HourField): Line => ({ label, value: (at) => at(field) || null })

const PLANS: readonly PlotPlan[] = [
  { title: 'Keys per second', show: amount, lines: [figure('keys', 'items')] },
  {
    title: 'Requests per second',
    show: amount,
    lines: [figure('all', 'requests'), { ...figure('failed', 'failures'), isBad: true }],
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
/** How often an hour's figures are asked for: they come in spans of as long. */
const HOUR_MS = 10_000
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
    const items = plan.lines.map((line, i) =>
      make('li', '', make('span', `swatch ${ink(line, i)}`), `${line.label} `, this.#values[i]),
    )
    const caption = make('figcaption', '', make('h3', '', plan.title), make('ul', '', ...items))
    this.element = make('figure', 'card plot', caption, this.#canvas)
    this.#canvas.setAttribute('role', 'img')
    this.#canvas.setAttribute('aria-label', plan.title)
    new ResizeObserver(() => this.#resize()).observe(this.element)
  }

  /** @param seconds until now that are shown */
  update(history: Told['/hour.json'], now: number, seconds: number): void {
    const { at } = history
    const columns = this.#plan.lines.map(({ value }) =>
      at.map((_, second) => value((field) => history[field][second])),
    )
    this.#data = [at.map((end) => end / 1000), ...columns]
    this.#plot?.setData(this.#data, false)
    this.#plot?.setScale('x', { min: now / 1000 - seconds, max: now / 1000 })
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
        ...lines.map((line, i) => ({
          label: line.label,
          stroke: colour(ink(line, i)),
          width: 1.75,
          points: { size: 4 },
          ...(filled ? { fill: `${colour(`series-${i + 1}`)}26` } : {}),
        })),
      ],
      hooks: { setCursor: [() => this.#showValues()] },
    }
  }
}

/** Name of a line's colour. */
function ink({ isBad }: Line, i: number): string {
  return isBad ? 'bad' : `series-${i + 1}`
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

/** All plots, of the last five minutes or of the last hour. */
export class Plots {
  readonly #plots = PLANS.map((plan) => new Plot(plan))
  readonly #choice = byId('plots-of')
  #hour: Told['/hour.json'] | undefined
  #hourAt = Number.NEGATIVE_INFINITY
  #latest: ServerStatus | undefined

  constructor(parent: HTMLElement) {
    parent.append(...this.#plots.map(({ element }) => element))
    this.#choice.addEventListener('change', () => {
      if (this.#latest !== undefined) void this.update(this.#latest)
    })
  }

  async update(status: ServerStatus): Promise<void> {
    this.#latest = status
    const isHour = this.#choice.querySelector('input:checked')?.getAttribute('value') === 'hour'
    const shown = isHour ? await this.#anHour() : status.history
    for (const plot of this.#plots) plot.update(shown, status.now, isHour ? 3600 : 300)
  }

  async #anHour(): Promise<Told['/hour.json']> {
    const now = performance.now()
    if (this.#hour !== undefined && now - this.#hourAt < HOUR_MS) return this.#hour
    this.#hourAt = now
    this.#hour = await fetchTold('/hour.json')
    return this.#hour
  }

  restyle(): void {
    for (const plot of this.#plots) plot.restyle()
  }
}
