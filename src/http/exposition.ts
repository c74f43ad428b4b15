import type { LogHistogram } from '../observe/log-histogram.js'

/** A number of a metric with the labels that tell it from the metric's others. */
export type Sample = readonly [
  value: number,
  labels?: Readonly<Record<string, string>>,
  /** Behind the metric's name. */
  suffix?: string,
]

/** A metric with its numbers at the moment. */
export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly samples: readonly Sample[]
}

/** What is said of a metric, and its number, or its numbers by labels. */
type Row = readonly [help: string, value: number | readonly Sample[]]

/** Gauges by name. @param prefix of all names */
export function gauges(rows: Readonly<Record<string, Row>>, prefix = 'warpdex_'): Metric[] {
  return Object.entries(rows).map(([name, [help, value]]) => {
    const samples: readonly Sample[] = typeof value === 'number' ? [[value]] : value
    return { name: `${prefix}${name}`, help, type: 'gauge', samples }
  })
}

/** Counters by name, to which `_total` is added. */
export function counters(rows: Readonly<Record<string, Row>>, prefix?: string): Metric[] {
  return gauges(rows, prefix).map((metric) => ({ ...metric, name: `${metric.name}_total`, type: 'counter' }))
}

/** How numbers that were recorded are shown. */
export interface Buckets {
  /** They end at these powers of two of what was recorded. */
  readonly powers: readonly number[]
  /** What one of the numbers recorded is in the metric's unit: 1e-6 for microseconds in a metric of seconds. */
  readonly unit: number
}

/** A metric with a series for each of the histograms in which something was recorded. */
export function histogram(
  name: string,
  help: string,
  { powers, unit }: Buckets,
  series: readonly (readonly [recorded: LogHistogram, labels: Readonly<Record<string, string>>])[],
): Metric {
  const samples = series.flatMap(([recorded, labels]): Sample[] => {
    const { count, sum } = recorded
    if (count === 0) return []
    const buckets = powers.map((power): Sample => {
      const le = String(Number((2 ** power * unit).toPrecision(9)))
      return [recorded.countUpTo(2 ** power), { ...labels, le }, '_bucket']
    })
    const all: Sample = [count, { ...labels, le: '+Inf' }, '_bucket']
    return [...buckets, all, [sum * unit, labels, '_sum'], [count, labels, '_count']]
  })
  return { name, help, type: 'histogram', samples }
}

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Metrics in the text format of Prometheus, version 0.0.4 (prometheus.io, Exposition formats). */
export function exposition(metrics: readonly Metric[]): string {
  const families = metrics.map(({ name, help, type, samples }) => {
    const lines = samples.map(
      ([value, labels, suffix = '']) => `${name}${suffix}${labelText(labels)} ${value}\n`,
    )
    return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`
  })
  return families.join('\n')
}

function labelText(labels: Sample[1] = {}): string {
  const all = Object.entries(labels).map(
    ([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`,
  )
  return all.length === 0 ? '' : `{${all.join(',')}}`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}
