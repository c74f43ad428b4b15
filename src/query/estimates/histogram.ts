import type { ValueSet } from '../../../gpu/relational/selection/selection-types.js'

/** Buckets of a histogram at most, but for those of single values: each is known to 0.4 % of the rows. */
const BUCKETS = 256

interface Bucket {
  readonly low: bigint
  readonly high: bigint
  /** Of all rows, nulls among them. */
  readonly share: number
  /** Values that there may be from `low` to `high`. */
  readonly width: number
  /** Those that there are, as far as can be told. */
  readonly distinct: number
}

/** What values a column of a sample has. */
export interface HistogramInput {
  /** Values that are not null, ascending, as unsigned numbers in order. */
  readonly sorted: BigUint64Array
  /** Rows of the sample, nulls among them. */
  readonly sampled: number
  /** Rows that the sample stands for. */
  readonly rows: number
}

/** An equi-depth histogram: neighbouring values in buckets of about equally many rows. A value that fills a bucket has one of its own. */
export class Histogram {
  readonly #buckets: readonly Bucket[]
  /** What is said of values that the sample has not. */
  readonly #unseen: number

  constructor(input: HistogramInput) {
    this.#buckets = [...bucketsOf(input)]
    const { sampled, rows } = input
    this.#unseen = sampled < rows ? 1 / (4 * Math.max(1, sampled)) : 0
  }

  /** The share of rows whose value is in a set; of nulls nothing is said. */
  share({ intervals }: ValueSet): number {
    const covered = new Float64Array(this.#buckets.length)
    let first = 0
    for (const { low, high } of intervals) {
      while (first < this.#buckets.length && this.#buckets[first]!.high < low) first++
      for (let i = first; i < this.#buckets.length && this.#buckets[i]!.low <= high; i++) {
        covered[i]! += coveredPart(this.#buckets[i]!, low, high)
      }
    }
    const share = this.#buckets.reduce((sum, bucket, i) => sum + bucket.share * Math.min(1, covered[i]!), 0)
    return share > 0 || intervals.length === 0 ? share : this.#unseen
  }
}

/** Values are thought to lie evenly; whoever asks for a single one is thought to know that it is there. */
function coveredPart(bucket: Bucket, low: bigint, high: bigint): number {
  const from = low > bucket.low ? low : bucket.low
  const to = high < bucket.high ? high : bucket.high
  const span = Number(to - from) + 1
  return span >= bucket.width ? 1 : Math.max(span / bucket.width, 1 / bucket.distinct)
}

function* bucketsOf(input: HistogramInput): Generator<Bucket> {
  const { sorted } = input
  const depth = Math.max(1, Math.ceil(sorted.length / BUCKETS))
  let start = 0
  while (start < sorted.length) {
    let end = Math.min(start + depth, sorted.length)
    const last = sorted[end - 1]!
    const begin = firstOf(sorted, last, start)
    while (end < sorted.length && sorted[end] === last) end++
    // A value of more than a bucket's rows does not share one with those before it.
    if (end - begin > depth && begin > start) end = begin
    yield bucketOf(input, start, end)
    start = end
  }
}

function firstOf(sorted: BigUint64Array, value: bigint, start: number): number {
  let first = start
  while (sorted[first]! < value) first++
  return first
}

function bucketOf({ sorted, sampled, rows }: HistogramInput, start: number, end: number): Bucket {
  const low = sorted[start]!
  const high = sorted[end - 1]!
  const width = Number(high - low) + 1
  let distinct = 0
  let once = 0
  for (let i = start; i < end; ) {
    let next = i + 1
    while (next < end && sorted[next] === sorted[i]) next++
    distinct++
    if (next === i + 1) once++
    i = next
  }
  // Of values that were seen once there are more (Charikar et al., "Towards estimation error guarantees for distinct values", 2000: GEE).
  const estimated = distinct - once + once * Math.sqrt(Math.max(1, rows / sampled))
  return { low, high, width, share: (end - start) / sampled, distinct: Math.min(width, estimated) }
}
