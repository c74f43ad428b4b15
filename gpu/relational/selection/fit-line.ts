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
