/** A line that does not fall: where it begins, at 0, how fast it rises, and the sum of squares that it leaves of the points. */
export interface FittedLine {
  readonly start: number
  readonly slope: number
  readonly error: number
}

/** The best line through points of those that do not fall, by least squares. */
export function fitLine(xs: readonly number[], ys: readonly number[]): FittedLine {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(xs), mean(ys)]
  const products = mean(xs.map((value, i) => (value - x) * (ys[i]! - y)))
  const squares = mean(xs.map((value) => (value - x) ** 2))
  const slope = squares > 0 ? Math.max(0, products / squares) : 0
  const error = ys.reduce((sum, value, i) => sum + (value - y - slope * (xs[i]! - x)) ** 2, 0)
  return { start: y - slope * x, slope, error }
}

/**
 * The values nearest to some by least squares that never fall (pool adjacent violators): what rises with a share of rows falls between two measurements of it
 * only by their noise.
 */
export function rising(values: readonly number[]): number[] {
  const pools: { sum: number; count: number }[] = []
  for (const value of values) {
    let last = { sum: value, count: 1 }
    let before = pools.at(-1)
    while (before !== undefined && before.sum / before.count > last.sum / last.count) {
      pools.pop()
      last = { sum: before.sum + last.sum, count: before.count + last.count }
      before = pools.at(-1)
    }
    pools.push(last)
  }
  return pools.flatMap(({ sum, count }) => Array.from({ length: count }, () => sum / count))
}

/** What a scan of two columns takes of which the second is read where the first condition holds, for a share of uniformly random rows. */
export interface BranchedScan {
  readonly selectivity: number
  readonly nanoseconds: number
}

/** The largest granule that is tried, in rows: those of the loads of a subgroup of 64 lanes. Nothing fetches more at a time; noise may look as if. */
const MOST_ROWS = 256
/** How far apart the granules are that are tried. */
const STEP = 2 ** (1 / 16)

/** The share of granules of so many rows in which some row goes on, where a share of all rows does independently of each other. */
export function touchedShare(granule: number, selectivity: number): number {
  return selectivity >= 1 ? 1 : -Math.expm1(granule * Math.log1p(-selectivity))
}

/**
 * The number of rows whose values are fetched together (the paper's w, Sitaridi and Ross §3.1). Where a share s of random rows goes on, 1 − (1 − s)^w
 * of the second column is read; the paper's min(s · w, 1) is what that comes to for small and for large shares. The first column's cost, the
 * second's and w are fitted together, by least squares.
 *
 * @param scans for shares up to 1, but not of 0: that a branch is taken at all has its price, which has nothing to do with what is fetched
 */
export function fitGranule(scans: readonly BranchedScan[]): number {
  let best = { rows: 1, error: Number.POSITIVE_INFINITY }
  for (let rows = 1; rows <= MOST_ROWS; rows *= STEP) {
    const { error } = fitLine(
      scans.map(({ selectivity }) => touchedShare(rows, selectivity)),
      scans.map(({ nanoseconds }) => nanoseconds),
    )
    if (error < best.error) best = { rows, error }
  }
  return best.rows
}
