/** How columns are read, which is what costs depend on: values of one word or of two. */
export type ColumnWidth = 'word' | 'wide'

/** What something comes to where a share of random rows wants it: at shares that rise, the last of which is 1. It is nothing at 0, and straight between shares. */
export type ShareCurve = readonly { readonly share: number; readonly value: number }[]

/**
 * What selections cost on an adapter, in nanoseconds a row unless said otherwise (Sitaridi and Ross §3.1 and §4, "Model calibration").
 */
export interface SelectionCosts {
  /** Invocations of a workgroup for which these are measured, the fastest of those tried. */
  readonly workgroup: number
  /** A branch-free scan of one column that counts. */
  readonly scan: Readonly<Record<ColumnWidth, number>>
  /** r_k: what a branch-free scan of k columns takes, as a part of k scans of one; of k = 1 at first. The last holds for all beyond. */
  readonly rates: Readonly<Record<ColumnWidth, readonly number[]>>
  /** Rows whose values are fetched together where some are left out: the paper's w. */
  readonly granule: number
  /** What reading a column takes behind a branch that a share of rows takes, as a part of its scan. */
  readonly branch: ShareCurve
  /** A branch of a kernel by itself, in nanoseconds, however many rows there are. */
  readonly branching: number
  /** A value that is read at a row number, for rows that lie a `granule` or more apart. */
  readonly gather: Readonly<Record<ColumnWidth, number>>
  /** Reading at row numbers by itself, in nanoseconds, however few rows there are: they wait for memory, and for nothing else meanwhile. */
  readonly gathering: number
  /** A row that a kernel looks at whose rows are wanted, not only their count: noting whether it has passed, and finding those that have. */
  readonly mark: number
  /** A value or a row number that is written, a word. */
  readonly write: number
  /** A word that is copied, read and written: what the figures of other operators are compared with. */
  readonly copy: number
  /**
   * Evaluating predicates beyond reading their columns: an interval, a step of a search among several, a bit table, an operator or operand of
   * an expression that is none of these.
   */
  readonly predicate: {
    readonly interval: number
    readonly search: number
    readonly table: number
    readonly expression: number
  }
  /** Matching strings by their bytes, beyond reading their numbers. */
  readonly match: {
    /** A row, whether or not its string is to be matched. */
    readonly row: number
    /** A string, however long it is. */
    readonly string: number
    /** Each of its bytes. */
    readonly byte: number
    /** What strings and bytes of a share of the rows take, as a part of those of all: rows in lockstep with one that is matched wait for it. */
    readonly part: { readonly string: ShareCurve; readonly byte: ShareCurve }
    /** What it takes beyond that behind a branch, in nanoseconds for each row of a kernel. */
    readonly branched: ShareCurve
    /** Rows of a tile, which the same invocations match. */
    readonly tile: number
    /** Tiles that the device matches at the same time: fewer take no less. */
    readonly tiles: number
  }
  /** Starting a kernel, in nanoseconds, whatever it does. */
  readonly launch: number
  /** Learning how many rows a kernel has left, in nanoseconds, once it has run. */
  readonly roundTrip: number
}

/** Costs that are one number. */
const SINGLE = 'workgroup granule branching gathering mark write copy launch roundTrip'.split(' ')

/** A value as the costs that it is; undefined where it is none: not all there, not all finite numbers of 0 and more, a granule of no row, or curves that do not go up to all rows. */
export function asSelectionCosts(value: unknown): SelectionCosts | undefined {
  const costs = Object(value)
  const { scan, rates, gather, predicate, match } = costs
  const { interval, search, table, expression } = Object(predicate)
  const { row, string, byte, part, branched, tile, tiles } = Object(match)
  const numbers = SINGLE.map((name) => costs[name])
  numbers.push(interval, search, table, expression, row, string, byte, tile, tiles)
  for (const width of ['word', 'wide']) {
    const list = Object(rates)[width]
    if (!Array.isArray(list) || list.length === 0) return undefined
    numbers.push(Object(scan)[width], Object(gather)[width], ...list)
  }
  const isWhole =
    numbers.every(isCost) && [costs.branch, Object(part).string, Object(part).byte, branched].every(isCurve)
  return isWhole && costs.granule >= 1 ? costs : undefined
}

function isCurve(value: unknown): boolean {
  if (!Array.isArray(value)) return false
  const shares = value.map((point) => Object(point).share)
  const rises = shares.every((share, i) => isCost(share) && share > (i === 0 ? 0 : shares[i - 1]))
  return rises && shares.at(-1) === 1 && value.every((point) => isCost(Object(point).value))
}

function isCost(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}
