import { fitLine } from './fit-line.js'

/** What a scan of two columns takes of which the second is read where the first condition holds, for a share of uniformly random rows. */
export interface BranchedScan {
  readonly selectivity: number
  readonly nanoseconds: number
}

/** The largest granule that is tried, in rows: those of the loads of a subgroup of 64 lanes. Nothing fetches more at a time; noise may look as if. */
const MOST_ROWS = 256
/** How far apart the granules are that are tried. */
const STEP = 2 ** (1 / 16)

/** The share of granules in which some row goes on, where a share of all rows does. */
export function touchedShare(granule: number, selectivity: number): number {
  return 1 - (1 - selectivity) ** granule
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
