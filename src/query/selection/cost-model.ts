import type { ColumnWidth, SelectionCosts } from '../../../gpu/relational/selection/selection-types.js'

/** A column as costs see it. */
export interface ModelColumn {
  readonly width: ColumnWidth
  readonly nullable: boolean
}

/** What evaluating a condition takes beyond reading its columns, in nanoseconds. */
export interface Evaluation {
  readonly perRow: number
  /** Instead of that: something made once, and then so much a row. */
  readonly prepared?: { readonly once: number; readonly perRow: number } | undefined
}

/** A condition as costs see it. */
export interface ModelCondition {
  /** Numbers of the columns that it reads. */
  readonly columns: readonly number[]
  readonly evaluation: Evaluation
  /** Whether it needs a kernel of its own. */
  readonly alone: boolean
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
  /** Columns' buffers that a kernel may bind, values and validities. */
  readonly buffers: number
  /**
   * How likely some row of a granule passes: as Sitaridi and Ross have it, min(sel · w, 1), or 1 − (1 − sel)^w, what it is where rows pass independently of each
   * other. The former is up to 1.6 times as much around sel = 1/w, where plans part.
   */
  readonly touching: 'paper' | 'independent'
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
  readonly #alone: number
  readonly #columnsOf: Int32Array
  readonly #scan: Float64Array
  readonly #gather: Float64Array
  readonly #outputColumns: number

  constructor(problem: SelectionProblem) {
    const { conditions, columns, costs } = problem
    this.problem = problem
    this.all = 2 ** conditions.length - 1
    this.#alone = conditions.reduce((mask, { alone }, i) => (alone ? mask | (1 << i) : mask), 0)
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

  /** How likely some of a granule's rows pass, of which this share does. */
  touched(share: number): number {
    const { touching, costs } = this.problem
    if (touching === 'paper') return Math.min(share * costs.granule, 1)
    return share >= 1 ? 1 : -Math.expm1(costs.granule * Math.log1p(-share))
  }

  /**
   * A group of conditions within a kernel, evaluated where the ones before it have let some row through.
   * @returns infinity where there is no such group
   */
  group(start: number, before: number, after: number, input: KernelInput): number {
    const added = after ^ before
    const isFirst = before === start
    if (((before ^ start) & this.#alone) !== 0) return Number.POSITIVE_INFINITY
    if ((added & this.#alone) !== 0 && (!isFirst || (added & (added - 1)) !== 0)) {
      return Number.POSITIVE_INFINITY
    }
    const read = this.#columns(added) & ~this.#columns(before ^ start)
    const passing = this.rowsAfter(before)
    const reached = isFirst ? passing : this.reached(start, before)
    // Behind other kernels the host waits to learn for how many rows an expression is to be evaluated.
    const waiting = (added & this.#alone) !== 0 && start !== 0 ? this.problem.costs.roundTrip : 0
    return waiting + this.#read(read, input, reached, passing, true) + this.#evaluate(added, reached)
  }

  /** Rows for which a kernel goes on behind some conditions: those of granules with a row that has passed. */
  reached(start: number, before: number): number {
    const entering = this.rowsAfter(start)
    return entering === 0 ? 0 : entering * this.touched(this.rowsAfter(before) / entering)
  }

  /** Whether it takes less, for so many rows, to have the answers of a condition ready beforehand. */
  isPrepared(condition: number, rows: number): boolean {
    const { perRow, prepared } = this.problem.conditions[condition]!.evaluation
    return prepared !== undefined && prepared.once + prepared.perRow * rows < perRow * rows
  }

  /** Whether a kernel can bind what its conditions read. One condition is evaluated whatever it takes. */
  fits(start: number, after: number): boolean {
    const added = after ^ start
    return (added & (added - 1)) === 0 || this.#buffers(this.#columns(added)) <= this.problem.buffers
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
    if (hands === 'rows') return this.#writeNumbers(start, after, input)
    const { output } = this.problem
    const numbers = output.rows ? this.#writeNumbers(start, after, input) : 0
    return numbers + this.#writeColumns(start, after, input, this.#needed(after))
  }

  /** What the last kernel takes for the output. */
  finishing(start: number, input: KernelInput): number {
    const { output } = this.problem
    const numbers = output.rows ? this.#writeNumbers(start, this.all, input) : 0
    return numbers + this.#writeColumns(start, this.all, input, this.#outputColumns)
  }

  /** A condition by itself, a row. */
  perTuple(condition: number): number {
    const { evaluation } = this.problem.conditions[condition]!
    const read = this.problem.input === 'table' ? this.#scan : this.#gather
    let cost = Math.min(evaluation.perRow, this.#preparedPerRow(evaluation))
    for (let left = this.#columnsOf[condition]!; left !== 0; left &= left - 1) cost += read[lowest(left)]!
    return cost
  }

  #preparedPerRow({ prepared }: Evaluation): number {
    if (prepared === undefined) return Number.POSITIVE_INFINITY
    return prepared.perRow + prepared.once / Math.max(1, this.problem.rows)
  }

  #needed(after: number): number {
    return this.#columns(this.all & ~after) | this.#outputColumns
  }

  #columns(conditions: number): number {
    let columns = 0
    for (let left = conditions; left !== 0; left &= left - 1) columns |= this.#columnsOf[lowest(left)]!
    return columns
  }

  #buffers(columns: number): number {
    let buffers = 0
    for (let left = columns; left !== 0; left &= left - 1) {
      buffers += this.problem.columns[lowest(left)]!.nullable ? 2 : 1
    }
    return buffers
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
    const place = together ? popcount(columns) - 1 : 0
    // At numbers of rows the pieces of memory count that the rows lie in.
    const pieces =
      input === 'rows'
        ? (tableRows / costs.granule) * this.touched(tableRows === 0 ? 0 : passing / tableRows)
        : 0
    let cost = 0
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

  #evaluate(conditions: number, rows: number): number {
    let cost = 0
    for (let left = conditions; left !== 0; left &= left - 1) {
      const { evaluation } = this.problem.conditions[lowest(left)]!
      const { perRow, prepared } = evaluation
      const each = perRow * rows
      cost += prepared === undefined ? each : Math.min(each, prepared.once + prepared.perRow * rows)
    }
    return cost
  }

  /** Numbers of rows are counted in the table, read from the list, or were handed on as a column. */
  #writeNumbers(start: number, after: number, input: KernelInput): number {
    const { costs } = this.problem
    const written = this.rowsAfter(after)
    const read = input === 'columns' ? costs.scan.word * this.reached(start, after) : 0
    return read + written * costs.write
  }

  #writeColumns(start: number, after: number, input: KernelInput, columns: number): number {
    if (columns === 0) return 0
    const { costs, columns: kinds } = this.problem
    const written = this.rowsAfter(after)
    // Conditions are done with by then: their columns are read once more, where rows have passed.
    let cost = this.#read(columns, input, this.reached(start, after), written, false)
    for (let left = columns; left !== 0; left &= left - 1) {
      const { width, nullable } = kinds[lowest(left)]!
      cost += written * costs.write * ((width === 'wide' ? 2 : 1) + (nullable ? 1 / WORD_ROWS : 0))
    }
    return cost
  }
}

function maskOf(numbers: readonly number[]): number {
  return numbers.reduce((mask, number) => mask | (1 << number), 0)
}

/** The number of the lowest bit that is set. */
export function lowest(mask: number): number {
  return 31 - Math.clz32(mask & -mask)
}

export function popcount(mask: number): number {
  let count = 0
  for (let left = mask; left !== 0; left &= left - 1) count++
  return count
}
