import type { SelectionCosts } from '../../../protocol/query/selection-costs.js'
import type { TypedExpression } from '../../../protocol/query/typed.js'
import type { QueryColumn } from '../query/query-column.js'
import type { CalibrationSize } from './calibrate.js'
import type { Probed, RepeatedTimer } from './repeated-timer.js'
import { FEW_VALUE_BITS, type SampleColumns } from './sample-columns.js'
import type { ColumnWidth, Condition, Interval, SelectionOutput } from './selection-types.js'

/** A kernel is never started in less, in nanoseconds, whatever a difference of two times says. */
const LEAST_LAUNCH = 1_000
/** Intervals and tables of predicates that are compared with one of one interval. */
const SEVERAL_INTERVALS = 4
const SEARCHED_INTERVALS = 64
/** The share of rows that takes the branch whose own time is asked for. */
const FEW_BRANCHED = 1 / 64
const COUNT: SelectionOutput = { kind: 'count' }

/** Times selections over sample columns, each for one figure of the calibration. */
export class SelectionProbe {
  readonly #timer: RepeatedTimer
  readonly #columns: SampleColumns
  readonly #size: CalibrationSize

  constructor(timer: RepeatedTimer, columns: SampleColumns, size: CalibrationSize) {
    this.#timer = timer
    this.#columns = columns
    this.#size = size
  }

  /** What a further kernel takes beside its work, in nanoseconds. */
  async launch(): Promise<number> {
    const conditions = [half(0), half(1)]
    const columns = this.#columns.words.slice(0, 2)
    const together: Probed = { columns, conditions, plan: planOf([[[0], [1]]]), output: COUNT }
    const apart: Probed = { ...together, plan: planOf([[[0]], [[1]]]) }
    return Math.max(LEAST_LAUNCH, await this.#timer.beyond(apart, together))
  }

  /** What it takes until the host knows a count, in nanoseconds, without the kernels. */
  async roundTrip(): Promise<number> {
    return Math.max(0, await this.#timer.waiting(this.#scan('word', 1)))
  }

  /** Branch-free scans, each of so many columns, in nanoseconds a row. */
  scans(width: ColumnWidth, columns: readonly number[]): Promise<number[]> {
    return this.#timer.perRow(columns.map((count) => ({ whole: this.#scan(width, count) })))
  }

  /** Over which branches are measured: the more, the less the time of one by itself matters. */
  get tallRows(): number {
    return 2 * this.#size.rows
  }

  /** Scans of two columns of which the second is read for a share of the rows, in nanoseconds a row. */
  branched(shares: readonly number[]): Promise<number[]> {
    const rows = this.tallRows
    return this.#timer.perRow(shares.map((selectivity) => ({ whole: this.#branched(selectivity), rows })))
  }

  /** What a branch takes that few rows take beyond one that hardly any takes, of all rows or of some, in nanoseconds. Noise may make it negative. */
  branching(rows: number): Promise<number> {
    return this.#timer.beyond(this.#branched(FEW_BRANCHED), this.#branched(0), rows)
  }

  #branched(selectivity: number): Probed {
    return {
      columns: this.#columns.tall,
      conditions: [share(0, selectivity), half(1)],
      plan: planOf([[[0], [1]]]),
      output: COUNT,
    }
  }

  /** What writing the numbers of a share of the rows takes beyond counting them, in nanoseconds a row. Noise may make it negative. */
  written(shares: readonly number[]): Promise<number[]> {
    return this.#timer.perRow(
      shares.map((selectivity) => {
        const part: Probed = {
          columns: this.#columns.words.slice(0, 1),
          conditions: [share(0, selectivity)],
          plan: planOf([[[0]]]),
          output: COUNT,
        }
        return { whole: { ...part, output: { kind: 'rows' } }, part }
      }),
    )
  }

  /** Copying a column, in nanoseconds a word. */
  copy(): Promise<number> {
    return this.#timer.copy(this.#columns.words)
  }

  /**
   * A condition on the rows of a list, which holds a share of all, in nanoseconds a row of a column of one word and of one of two. Noise may make
   * it negative.
   */
  listed(selectivity: number): Promise<number[]> {
    const [first, word] = this.#columns.words
    const listed = (second: QueryColumn, condition: Condition) => {
      const asked = { columns: [first!, second], conditions: [share(0, selectivity), condition] }
      const part: Probed = { ...asked, plan: planOf([[[0]]]), output: { kind: 'rows' } }
      return { whole: { ...asked, plan: planOf([[[0]], [[1]]]), output: COUNT }, part }
    }
    return this.#timer.perRow([listed(word!, half(1)), listed(this.#columns.wide[0]!, halfWide(1))])
  }

  /** What predicates take beyond a comparison with one interval, in nanoseconds a row. */
  async predicates(): Promise<SelectionCosts['predicate']> {
    const beyond = (columns: readonly QueryColumn[], condition: Condition, scanned = 1) => {
      const plan = planOf([[[0]]])
      const whole: Probed = { columns, conditions: [condition], plan, output: COUNT }
      return { whole, part: this.#scan('word', scanned) }
    }
    const { words, few } = this.#columns
    const compared: Condition = { kind: 'expression', expression: COMPARED_COLUMNS }
    const [several, searched, table, expression] = (
      await this.#timer.perRow([
        beyond(words, spread(SEVERAL_INTERVALS, 2n ** 32n)),
        beyond(words, spread(SEARCHED_INTERVALS, 2n ** 32n)),
        beyond([few], spread(2 ** (FEW_VALUE_BITS - 2), 2n ** BigInt(FEW_VALUE_BITS))),
        beyond(words, compared, 2),
      ])
    ).map((nanoseconds) => Math.max(0, nanoseconds))
    return {
      interval: several! / (SEVERAL_INTERVALS - 1),
      search: searched! / Math.log2(SEARCHED_INTERVALS),
      table: table!,
      expression: expression! / COMPARED_PARTS,
    }
  }

  /**
   * Strings that are matched for a share of the rows, in a group with the condition that leaves these or behind a branch, in nanoseconds a row, all
   * else included.
   */
  matched(
    strings: 'short' | 'long',
    shares: readonly number[],
    groups: readonly (readonly number[])[],
  ): Promise<number[]> {
    const plan = planOf([groups])
    return this.#timer.perRow(
      shares.map((selectivity) => ({ whole: { ...this.#matched(strings, selectivity), plan } })),
    )
  }

  /** What going through strings of which hardly any is matched takes beyond a scan of both columns, in nanoseconds a row. Noise may make it negative. */
  async unmatched(): Promise<number> {
    const [taken] = await this.#timer.perRow([
      { whole: this.#matched('short', 0), part: this.#scan('word', 2) },
    ])
    return taken!
  }

  /** What matching the long strings of some rows takes beyond matching hardly any, in nanoseconds. Noise may make it negative. */
  matchedFew(rows: number): Promise<number> {
    return this.#timer.beyond(this.#matched('long', 1), this.#matched('long', 0), rows)
  }

  /** Strings are matched as a part of a group, so that their numbers are read for all rows. */
  #matched(strings: 'short' | 'long', selectivity: number): Probed {
    return {
      columns: [this.#columns.words[0]!, this.#columns[strings]],
      conditions: [share(0, selectivity), UNMATCHED],
      plan: planOf([[[0, 1]]]),
      output: COUNT,
      options: { matchBy: new Map([[1, 'row']]) },
    }
  }

  #scan(width: ColumnWidth, columns: number): Probed {
    const conditions = Array.from({ length: columns }, (_, i) => (width === 'word' ? half(i) : halfWide(i)))
    return {
      columns: width === 'word' ? this.#columns.words : this.#columns.wide,
      conditions,
      plan: planOf([[conditions.map((_, i) => i)]]),
      output: COUNT,
    }
  }
}

const WORDS = 2 ** 32

/** What no string has, so that all of its bytes are looked at. */
const UNMATCHED: Condition = { kind: 'match', column: 1, match: 'contains', text: 'y', negated: false }

/** Kernels of groups of conditions, which hand on row numbers. */
function planOf(kernels: readonly (readonly (readonly number[])[])[]) {
  return { kernels: kernels.map((groups) => ({ groups, hands: 'rows' as const })) }
}

/** A condition that a share of random rows satisfies, but never one that is known without looking: neither none nor all. */
function share(column: number, selectivity: number): Condition {
  const high = Math.min(WORDS - 2, Math.max(0, Math.round(selectivity * WORDS) - 1))
  return among(column, [{ low: 0n, high: BigInt(high) }])
}

function half(column: number): Condition {
  return share(column, 0.5)
}

function halfWide(column: number): Condition {
  return among(column, [{ low: 0n, high: 2n ** 63n }])
}

/** Intervals over all values below a bound, half of which are in them. */
function spread(count: number, bound: bigint): Condition {
  const width = bound / BigInt(2 * count)
  const intervals = Array.from({ length: count }, (_, i) => {
    const low = 2n * BigInt(i) * width
    return { low, high: low + width - 1n }
  })
  return among(0, intervals)
}

function among(column: number, intervals: readonly Interval[]): Condition {
  return { kind: 'values', column, set: { intervals, nulls: false } }
}

const FIRST: TypedExpression = { kind: 'column', index: 0, type: 'u32', nullable: false }
const SECOND: TypedExpression = { kind: 'column', index: 1, type: 'u32', nullable: false }
/** Of which this consists: the comparison and both columns. */
const COMPARED_PARTS = 3
const COMPARED_COLUMNS: TypedExpression = {
  kind: 'comparison',
  op: '<',
  args: [FIRST, SECOND],
  type: 'boolean',
  nullable: false,
}
