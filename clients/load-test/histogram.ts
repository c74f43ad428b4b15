import hdr, { type Histogram } from 'hdr-histogram-js'

/** Histograms count microseconds, with an error of at most a thousandth. */
export function latencyHistogram(): Histogram {
  return hdr.build({ bitBucketSize: 32, numberOfSignificantValueDigits: 3 })
}

export function recordMilliseconds(histogram: Histogram, milliseconds: number): void {
  histogram.recordValue(Math.max(1, Math.round(milliseconds * 1000)))
}

/** A histogram as a message has it. */
export function encodeHistogram(histogram: Histogram): string {
  return hdr.encodeIntoCompressedBase64(histogram)
}

function decodeHistogram(encoded: string): Histogram {
  return hdr.decodeFromCompressedBase64(encoded, 32)
}

/** The sum of several histograms. */
export function mergedHistogram(encoded: readonly string[]): Histogram {
  const merged = latencyHistogram()
  for (const each of encoded) {
    const part = decodeHistogram(each)
    if (part.totalCount > 0) merged.add(part)
  }
  return merged
}

/** Percentiles of tables. */
const PERCENTILES = { p50: 50, p90: 90, p99: 99, p999: 99.9, p9999: 99.99 } as const

/** Latencies in milliseconds. */
export type LatencyFigures = Readonly<Record<'min' | 'mean' | keyof typeof PERCENTILES | 'max', number>>

export function latencyFigures(histogram: Histogram): LatencyFigures {
  const at = (percentile: number) => histogram.getValueAtPercentile(percentile) / 1000
  const { p50, p90, p99, p999, p9999 } = PERCENTILES
  return {
    min: histogram.totalCount === 0 ? 0 : histogram.minNonZeroValue / 1000,
    mean: histogram.totalCount === 0 ? 0 : histogram.mean / 1000,
    p50: at(p50),
    p90: at(p90),
    p99: at(p99),
    p999: at(p999),
    p9999: at(p9999),
    max: histogram.maxValue / 1000,
  }
}

/** Points of a curve between two nines. */
const POINTS_A_DECADE = 12

/** The latency in milliseconds that a share of the requests stays below, for shares that come ever closer to all. */
export function latencyCurve(histogram: Histogram): { readonly percentile: number; readonly ms: number }[] {
  const { totalCount } = histogram
  if (totalCount === 0) return []
  const points: { percentile: number; ms: number }[] = []
  for (let i = 0; ; i++) {
    const beyond = 10 ** (-i / POINTS_A_DECADE)
    // The last point is the slowest request.
    const percentile = beyond * totalCount < 1 ? 100 : 100 * (1 - beyond)
    points.push({ percentile, ms: histogram.getValueAtPercentile(percentile) / 1000 })
    if (percentile === 100) return points
  }
}
