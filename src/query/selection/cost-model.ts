import { touchedShare } from '../../../gpu/relational/selection/fits.js'
import { MOST_UNREAD_WORDS } from '../../../gpu/relational/selection/selection-run.js'
import type { ColumnWidth, SelectionCosts } from '../../../gpu/relational/selection/selection-types.js'
import type { ShareCurve } from '../../../protocol/query/selection-costs.js'
import { lowest, maskOf, sizeOf } from '../estimates/masks.js'

/** A column as costs see it. */
export interface ModelColumn {
  readonly width: ColumnWidth
  readonly nullable: boolean
}

/** What evaluating a condition takes beyond reading its columns, in nanoseconds. */
export interface Evaluation {
  readonly perRow: number
  /** Where strings are matched by their bytes. */
  readonly match?: MatchEvaluation | undefined
}

/** Matching the strings of the rows that other conditions have left, or all of a dictionary beforehand and looking up their answers. */
export interface MatchEvaluation {
  /** Whether or not the row's string is matched. */
  readonly perRow: number
  readonly perString: number
  /** The part of that which bytes take. */
  readonly bytes: number
  /** Of the dictionary. */
  readonly strings: number
  /** Looking up, a row. */
  readonly prepared: number
}

/** A condition as costs see it. */
export interface ModelCondition {
  /** Numbers of the columns that it reads. */
  readonly columns: readonly number[]
  readonly evaluation: Evaluation
}

/** What is handed on, or wanted in the end: whether numbers of rows, and which columns' values. */
export interface ModelOutput {
  readonly rows: boolean
  readonly columns: readonly number[]
}

/** All that the costs of a selection's plans follow from. */
export interface SelectionProblem {
  /** That are selected from. */
  readonly rows: number
  /** Whether these are all of a table, or those of a list, of so many. */
  readonly input: 'table' | 'rows'
  readonly tableRows: number
  /** 31 at most. */
  readonly columns: readonly ModelColumn[]
  /** 24 at most. */
  readonly conditions: readonly ModelCondition[]
  /** The share of rows that satisfy all conditions of a set; bit i stands for condition i. */
  readonly joint: (mask: number) => number
  readonly output: ModelOutput
  readonly costs: SelectionCosts
}

/** Where a kernel reads: the table's columns, these at numbers of rows, or columns that the kernel before has written. */
export type KernelInput = 'table' | 'rows' | 'columns'

/** Rows of a word of a validity. */
const WORD_ROWS = 32

/**
 * Costs of parts of plans, in nanoseconds (Sitaridi and Ross §3.1, §3.2). Sets of conditions are masks. `start` is what earlier kernels have evaluated, `before` what comes before a
 * group, and `after` what has been evaluated behind it.
 */
export class CostModel {
  readonly problem: SelectionProblem
  /** All conditions. */
  readonly all: number
  /** Conditions that match strings. */
  readonly #matching: number
  readonly #columnsOf: Int32Array
  readonly #scan: Float64Array
  readonly #gather: Float64Array
  readonly #outputColumns: number

  constructor(problem: SelectionProblem) {
    const { conditions, columns, costs } = problem
    this.problem = problem
    this.all = 2 ** conditions.length - 1
    this.#matching = maskOf(
      [...conditions.keys()].filter((i) => conditions[i]!.evaluation.match !== undefined),
    )
    this.#columnsOf = Int32Array.from(conditions, (condition) => maskOf(condition.columns))
    const validity = ({ nullable }: ModelColumn) => (nullable ? costs.scan.word / WORD_ROWS : 0)
    this.#scan = Float64Array.from(columns, (column) => costs.scan[column.width] + validity(column))
    this.#gather = Float64Array.from(columns, ({ width, nullable }) =>
      nullable ? costs.gather[width] + costs.gather.word / WORD_ROWS : costs.gather[width],
    )
    this.#outputColumns = maskOf(problem.output.columns)
  }

  /** Rows that have passed a set of conditions. */
  rowsAfter(mask: number): number {
    return this.problem.rows * this.problem.joint(mask)
  }

  /**
   * The part of a column that is read behind a branch that this share of rows takes, as it was measured. The paper's min(sel · w, 1) is up to 1.6 times as
   * much around sel = 1/w, where plans part.
   */
  behind(share: number): number {
    return valueAt(this.problem.costs.branch, share)
  }

  /** How likely some of a granule's rows pass, of which this share does independently of each other. */
  touched(share: number): number {
    return touchedShare(this.problem.costs.granule, share)
  }

  /** A group of conditions within a kernel, evaluated where the ones before it have let some row through. */
  group(start: number, before: number, after: number, input: KernelInput): number {
    const added = after ^ before
    const isFirst = before === start
    const read = this.#columns(added) & ~this.#columns(before ^ start)
    const passing = this.rowsAfter(before)
    const reached = this.reached(start, before)
    const branching = isFirst ? 0 : this.problem.costs.branching
    const reading = this.#read(read, input, reached, passing, true)
    return branching + reading + this.#evaluate(start, before, after)
  }

  /** Rows for which a kernel goes on behind some conditions, as costs have it: as many as take as long without a branch. */
  reached(start: number, before: number): number {
    const entering = this.rowsAfter(start)
    if (before === start || entering === 0) return entering
    return entering * this.behind(this.rowsAfter(before) / entering)
  }

  /** Rows of the granules in which a row has passed. */
  #fetched(start: number, after: number): number {
    const entering = this.rowsAfter(start)
    return entering === 0 ? 0 : entering * this.touched(this.rowsAfter(after) / entering)
  }

  /** Conditions of a group for which it takes less to match all strings of the dictionary beforehand than those of the rows that are left. */
  prepared(start: number, before: number, after: number): number {
    const reached = this.reached(start, before)
    let prepared = 0
    let done = before | ((after ^ before) & ~this.#matching)
    for (let matches = after & ~done; matches !== 0; matches &= matches - 1) {
      const condition = lowest(matches)
      const inPlace = this.#inPlace(condition, start, before, done)
      const isPrepared = this.#beforehand(condition, reached) < inPlace
      if (isPrepared) prepared |= 1 << condition
      done |= 1 << condition
    }
    return prepared
  }

  /**
   * What a kernel takes besides its groups: being started, and its list of rows. What kernels have left is read once, behind the last of them, which is
   * put to the account of the first.
   */
  overhead(start: number, input: KernelInput): number {
    const { costs } = this.problem
    const list = input === 'rows' ? costs.scan.word * this.rowsAfter(start) : 0
    return costs.launch + (start === 0 ? costs.roundTrip : 0) + list
  }

  /** What a kernel takes for what it hands on. */
  handing(start: number, after: number, input: KernelInput, hands: 'rows' | 'columns'): number {
    const { output } = this.problem
    const marking = this.#mark(start)
    if (hands === 'rows') return marking + this.#learning(start, 1) + this.#writeNumbers(start, after, input)
    const needed = this.#needed(after)
    const learning = this.#learning(start, this.#words(needed) + (output.rows ? 1 : 0))
    const numbers = output.rows ? this.#writeNumbers(start, after, input) : 0
    return marking + learning + numbers + this.#writeColumns(start, after, input, needed)
  }

  /** What it takes until the host knows how many rows have passed, where it waits for that since each hands on so many words. */
  #learning(start: number, words: number): number {
    const { rows, costs } = this.problem
    // Of rows that one word each would have been too many for, the kernel before has told how many are left.
    const isKnown = start !== 0 && rows > MOST_UNREAD_WORDS
    const bound = isKnown ? this.rowsAfter(start) : rows
    return bound * words > MOST_UNREAD_WORDS ? costs.roundTrip : 0
  }

  /** What the last kernel takes for the output. */
  finishing(start: number, input: KernelInput): number {
    const { output } = this.problem
    if (!output.rows && this.#outputColumns === 0) return 0
    const numbers = output.rows ? this.#writeNumbers(start, this.all, input) : 0
    return this.#mark(start) + numbers + this.#writeColumns(start, this.all, input, this.#outputColumns)
  }

  /** A condition by itself, a row. */
  perTuple(condition: number): number {
    const { evaluation } = this.problem.conditions[condition]!
    const read = this.problem.input === 'table' ? this.#scan : this.#gather
    let cost = evaluation.perRow + this.#matchPerRow(evaluation)
    for (let left = this.#columnsOf[condition]!; left !== 0; left &= left - 1) cost += read[lowest(left)]!
    return cost
  }

  #matchPerRow({ match }: Evaluation): number {
    if (match === undefined) return 0
    const { perRow, perString, strings, prepared } = match
    return Math.min(perRow + perString, prepared + (perString * strings) / Math.max(1, this.problem.rows))
  }

  #needed(after: number): number {
    return this.#columns(this.all & ~after) | this.#outputColumns
  }

  #columns(conditions: number): number {
    let columns = 0
    for (let left = conditions; left !== 0; left &= left - 1) columns |= this.#columnsOf[lowest(left)]!
    return columns
  }

  /** Words of a row's values. */
  #words(columns: number): number {
    let words = 0
    for (let left = columns; left !== 0; left &= left - 1) {
      words += this.problem.columns[lowest(left)]!.width === 'wide' ? 2 : 1
    }
    return words
  }

  /**
   * Reading columns.
   * @param reached rows of the granules of the input that are read
   * @param passing rows that want the values
   * @param together whether nothing lies between the columns that a kernel could wait for
   */
  #read(columns: number, input: KernelInput, reached: number, passing: number, together: boolean): number {
    if (columns === 0) return 0
    const { costs, tableRows, columns: kinds } = this.problem
    const place = together ? sizeOf(columns) - 1 : 0
    // At numbers of rows the pieces of memory count that the rows lie in.
    const pieces =
      input === 'rows'
        ? (tableRows / costs.granule) * this.touched(tableRows === 0 ? 0 : passing / tableRows)
        : 0
    let cost = input === 'rows' && passing > 0 ? costs.gathering : 0
    for (let left = columns; left !== 0; left &= left - 1) {
      const column = lowest(left)
      const scan = this.#scan[column]!
      if (input === 'rows') cost += Math.max(this.#gather[column]! * pieces, scan * passing)
      else {
        const rates = costs.rates[kinds[column]!.width]
        cost += scan * rates[Math.min(place, rates.length - 1)]! * reached
      }
    }
    return cost
  }

  /** Within a group strings are matched last, of the rows that all its other conditions have left. */
  #evaluate(start: number, before: number, after: number): number {
    const { conditions } = this.problem
    const reached = this.reached(start, before)
    const added = after ^ before
    let cost = 0
    for (let left = added; left !== 0; left &= left - 1) {
      cost += conditions[lowest(left)]!.evaluation.perRow * reached
    }
    let done = before | (added & ~this.#matching)
    for (let matches = added & this.#matching; matches !== 0; matches &= matches - 1) {
      const condition = lowest(matches)
      const inPlace = this.#inPlace(condition, start, before, done)
      cost += Math.min(inPlace, this.#beforehand(condition, reached))
      done |= 1 << condition
    }
    return cost
  }

  /** Going through the rows that a group sees, and matching the strings of those that some conditions have left of what a kernel began with. */
  #inPlace(condition: number, start: number, before: number, done: number): number {
    const entering = this.rowsAfter(start)
    if (entering === 0) return 0
    const { perRow, perString, bytes } = this.problem.conditions[condition]!.evaluation.match!
    const { part, branched } = this.problem.costs.match
    const share = this.rowsAfter(done) / entering
    const waiting = before === start ? 0 : entering * valueAt(branched, share)
    const matched = (1 - bytes) * valueAt(part.string, share) + bytes * valueAt(part.byte, share)
    return perRow * this.reached(start, before) + waiting + matched * this.#matchAll(perString, entering)
  }

  /** Matching all strings of a dictionary in a kernel of its own, and looking up the answer for rows. */
  #beforehand(condition: number, rows: number): number {
    const { perRow, perString, strings, prepared } = this.problem.conditions[condition]!.evaluation.match!
    const once = this.problem.costs.launch + perRow * strings + this.#matchAll(perString, strings)
    return once + prepared * rows
  }

  /**
   * Matching all of some neighbouring strings: the time of a tile, or the device's for all of them. It takes as many tiles as it can hold at a time,
   * and the last time, on average, half as many.
   */
  #matchAll(perString: number, strings: number): number {
    const { tile, tiles } = this.problem.costs.match
    const together = tiles * Math.min(tile, strings)
    return perString * Math.max(together, strings + together / 2)
  }

  /** Noting for each row that a kernel looks at whether it has passed, and finding those that have. */
  #mark(start: number): number {
    return this.problem.costs.mark * this.rowsAfter(start)
  }

  /** Numbers of rows are counted in the table, read from the list, or were handed on as a column. */
  #writeNumbers(start: number, after: number, input: KernelInput): number {
    const { costs } = this.problem
    const written = this.rowsAfter(after)
    const read = input === 'columns' ? costs.scan.word * this.#fetched(start, after) : 0
    return read + written * costs.write
  }

  #writeColumns(start: number, after: number, input: KernelInput, columns: number): number {
    if (columns === 0) return 0
    const { costs, columns: kinds } = this.problem
    const written = this.rowsAfter(after)
    // Conditions are done with by then: their columns are read once more, where rows have passed.
    let cost = this.#read(columns, input, this.#fetched(start, after), written, false)
    for (let left = columns; left !== 0; left &= left - 1) {
      const { width, nullable } = kinds[lowest(left)]!
      cost += written * costs.write * ((width === 'wide' ? 2 : 1) + (nullable ? 1 / WORD_ROWS : 0))
    }
    return cost
  }
}

/** What a curve comes to at a share of rows, from 0 to 1. */
export function valueAt(curve: ShareCurve, share: number): number {
  let below = { share: 0, value: 0 }
  for (const point of curve) {
    if (share <= point.share) {
      const place = (share - below.share) / (point.share - below.share)
      return below.value + place * (point.value - below.value)
    }
    below = point
  }
  return below.value
}
