/** What a scan of two columns takes of which the second is read where the first condition holds, for a share of uniformly random rows. */
export interface BranchedScan {
  readonly selectivity: number
  readonly nanoseconds: number
}

/** The largest granule that is tried, in rows: beyond it a share of 1 in 1,000 reads everything. */
const MOST_ROWS = 1024
/** How far apart the granules are that are tried. */
const STEP = 2 ** (1 / 16)

/**
 * The number of rows whose values are fetched together (the paper's w, Sitaridi and Ross §3.1). Where a share s of random rows goes on, 1 − (1 − s)^w
 * of the second column is read; the paper's min(s · w, 1) is what that comes to for small and for large shares. Fitted by least squares.
 *
 * @param none what the scan takes where no row goes on
 * @param all what it takes where all do
 */
export function fitGranule(none: number, all: number, scans: readonly BranchedScan[]): number {
  if (!(all > none)) return 1
  const fractions = scans.map(({ nanoseconds }) =>
    Math.min(1, Math.max(0, (nanoseconds - none) / (all - none))),
  )
  let best = { rows: 1, error: Number.POSITIVE_INFINITY }
  for (let rows = 1; rows <= MOST_ROWS; rows *= STEP) {
    const error = scans.reduce(
      (sum, { selectivity }, i) => sum + (1 - (1 - selectivity) ** rows - fractions[i]!) ** 2,
      0,
    )
    if (error < best.error) best = { rows, error }
  }
  return best.rows
}
