import { Histogram } from 'prom-client'
import type { LogHistogram } from '../observe/log-histogram.js'

/** One series of a recorded histogram. */
export interface Recorded {
  readonly labels: Readonly<Record<string, string>>
  readonly histogram: LogHistogram
}

export interface RecordedHistogramOptions {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly string[]
  /** Buckets end at these powers of two of what was recorded. */
  readonly powers: readonly number[]
  /** What one of the numbers recorded is in the metric's unit: 1e-6 for microseconds in a metric of seconds. */
  readonly unit: number
  /** The series; those in which nothing was recorded are left out. */
  readonly series: () => readonly Recorded[]
}

type Exposed = ReturnType<Histogram['get']>

/** Shows what was recorded elsewhere as a metric: the library's own recording takes a microsecond, which a small request has not. */
export class RecordedHistogram extends Histogram {
  readonly #options: RecordedHistogramOptions
  /** Has what is the same for all histograms. */
  readonly #template: Histogram

  constructor(options: RecordedHistogramOptions) {
    const described = { name: options.name, help: options.help, labelNames: [...options.labelNames] }
    super({ ...described, registers: [] })
    this.#options = options
    this.#template = new Histogram({ ...described, buckets: [], registers: [] })
  }

  override async get(): Exposed {
    const { name, unit, series } = this.#options
    const recorded = series().filter(({ histogram }) => histogram.count > 0)
    const values = recorded.flatMap(({ labels, histogram }) => [
      ...this.#buckets(histogram).map(([le, value]) => ({
        metricName: `${name}_bucket`,
        labels: { ...labels, le },
        value,
      })),
      { metricName: `${name}_sum`, labels: { ...labels }, value: histogram.sum * unit },
      { metricName: `${name}_count`, labels: { ...labels }, value: histogram.count },
    ])
    return { ...(await this.#template.get()), values }
  }

  /** What the registry calls where it is there, as it is in the class above, though in no declaration. */
  getForPromString(): Exposed {
    return this.get()
  }

  #buckets(histogram: LogHistogram): (readonly [le: number | string, count: number])[] {
    const { powers, unit } = this.#options
    const ends = powers.map((power) => {
      const end = Number((2 ** power * unit).toPrecision(9))
      return [end, histogram.countUpTo(2 ** power)] as const
    })
    return [...ends, ['+Inf', histogram.count]]
  }
}
