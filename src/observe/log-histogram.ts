/** Buckets for each doubling: a quantile is at most an eighth too high. */
const STEPS = 8
const STEP_BITS = 3

const MOST = 2 ** 31

/** What a histogram has counted, to be sent to another thread. */
export interface HistogramData {
  readonly counts: Float64Array
  readonly count: number
  readonly sum: number
}

/**
 * How often numbers from 0 to 2^31 came, rounded up to whole ones, in buckets whose width grows with the numbers. A bucket has its
 * upper end and not its lower one; every power of two is the end of one. Recording takes a few nanoseconds and allocates nothing,
 * whence it is used instead of the metrics library's.
 */
export class LogHistogram {
  readonly #counts = new Float64Array(bucketOf(MOST - 1) + 1)
  #count = 0
  #sum = 0

  /** Records a number; what is out of range goes to the nearest bucket. */
  record(value: number): void {
    this.#counts[value <= 1 ? 0 : bucketOf(value < MOST ? Math.ceil(value) - 1 : MOST - 1)]++
    this.#count++
    this.#sum += value
  }

  get count(): number {
    return this.#count
  }

  get sum(): number {
    return this.#sum
  }

  /** How many of the numbers were at most the given one, which must be a power of two. */
  countUpTo(powerOfTwo: number): number {
    let count = 0
    for (let i = bucketOf(powerOfTwo - 1); i >= 0; i--) count += this.#counts[i]
    return count
  }

  /** The end of the bucket of the least number that has the given share of all at or below it; 0 without any. */
  quantile(share: number): number {
    if (this.#count === 0) return 0
    const rank = Math.max(1, Math.ceil(share * this.#count))
    let count = 0
    let i = -1
    while (count < rank) count += this.#counts[++i]
    return upperEnd(i)
  }

  /** Counts in all that another one, of which this is the data, has counted. */
  add({ counts, count, sum }: HistogramData): void {
    for (let i = 0; i < counts.length; i++) this.#counts[i] += counts[i]!
    this.#count += count
    this.#sum += sum
  }

  /** All that it has counted, which it forgets. */
  take(): HistogramData {
    const data = { counts: this.#counts.slice(), count: this.#count, sum: this.#sum }
    this.clear()
    return data
  }

  clear(): void {
    this.#counts.fill(0)
    this.#count = 0
    this.#sum = 0
  }
}

/** Of a number less one. */
function bucketOf(below: number): number {
  if (below < STEPS) return below
  const doubling = 31 - Math.clz32(below) - STEP_BITS
  return doubling * STEPS + (below >>> doubling)
}

/** The greatest number of a bucket. */
function upperEnd(bucket: number): number {
  if (bucket < STEPS) return bucket + 1
  const doubling = Math.floor(bucket / STEPS) - 1
  return ((bucket % STEPS) + STEPS + 1) * 2 ** doubling
}
