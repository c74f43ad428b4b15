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
