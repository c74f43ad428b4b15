/** Rounds of coordinate descent; a handful of unknowns settle in far fewer. */
const ROUNDS = 2000

/**
 * Coefficients x ≥ 0 for which rows · x comes closest to 1 in each row, in the sense of least squares: costs are fitted to
 * measurements relative to each, and none is negative. By coordinate descent, which needs no more than a few lines for so few unknowns.
 */
export function fitToOnes(rows: readonly (readonly number[])[]): number[] {
  const width = rows[0]?.length ?? 0
  // Columns differ by many orders of magnitude.
  const scales = Array.from({ length: width }, (_, j) => Math.max(...rows.map((row) => row[j])) || 1)
  const scaled = rows.map((row) => row.map((value, j) => value / scales[j]))
  const x = new Array<number>(width).fill(0)
  const rest = rows.map(() => 1)
  for (let round = 0; round < ROUNDS; round++) {
    for (let j = 0; j < width; j++) {
      let slope = 0
      let curvature = 0
      scaled.forEach((row, i) => {
        slope += row[j] * rest[i]
        curvature += row[j] * row[j]
      })
      if (curvature === 0) continue
      const next = Math.max(0, x[j] + slope / curvature)
      const step = next - x[j]
      x[j] = next
      scaled.forEach((row, i) => {
        rest[i] -= step * row[j]
      })
    }
  }
  return x.map((value, j) => value / scales[j])
}
