import type { ValueType } from '../../../protocol/query/tree.js'
import type { TypedExpression } from '../../../protocol/query/typed.js'
import { evaluate } from '../expressions/evaluate.js'
import type { RowGroups } from '../order/row-groups.js'
import { type PairReduction, type Reduction, SegmentedReduce } from '../segmented-reduce.js'
import type { DeviceWork } from './device-work.js'
import type { ProgramBuilder } from './program.js'
import { type QueryColumn, valueWords } from './query-column.js'
import type { Table } from './table.js'

/** Groups of rows, or the one of all, which may have none. */
export type Groups = Pick<RowGroups, 'order' | 'starts' | 'count'> & { readonly isWhole?: boolean }

/** The rows of groups, for reductions over each of them. */
export class GroupRows {
  readonly work: DeviceWork
  readonly groups: Groups
  readonly #table: Table
  readonly #reduce: SegmentedReduce

  constructor(work: DeviceWork, table: Table, groups: Groups) {
    this.work = work
    this.groups = groups
    this.#table = table
    this.#reduce = new SegmentedReduce(work.device, work.kernels.primitives)
  }

  /** The values of an expression, in the order of the table. */
  async column(value: TypedExpression): Promise<QueryColumn> {
    const [column] = await evaluate(this.work, this.#table, [value])
    return column!
  }

  /** What a program gives for the rows, in the order of the groups. */
  computed(builder: ProgramBuilder, words: 1 | 2): GPUBuffer {
    const { rows } = this.#table
    return this.inOrder(
      this.work.kernels.evaluation.record(this.work, builder.finish(), rows, { words }),
      words,
    )
  }

  /** Values of the rows in the order of the groups. */
  inOrder(values: GPUBuffer, words: 1 | 2): GPUBuffer {
    const { rows } = this.#table
    const { order } = this.groups
    if (order === undefined) return values
    const ordered = this.work.words(rows * words)
    this.work.kernels.primitives.gather(this.work.recorder, values, order, ordered, rows, words)
    return ordered
  }

  /**
   * Reduces words of the rows.
   * @param words of a result
   */
  reduce(values: GPUBuffer, reduction: Reduction, words: 1 | 2): GPUBuffer {
    const { recorder, scratch } = this.work
    const output = this.work.words(words * this.groups.count)
    this.#reduce.record(recorder, scratch, values, this.#table.rows, this.groups, reduction, output)
    return output
  }

  /** The same of pairs of words. */
  async reducePairs(values: GPUBuffer, reduction: PairReduction, words: 2 | 4): Promise<GPUBuffer> {
    const { recorder, scratch } = this.work
    const output = this.work.words(words * this.groups.count)
    await this.#reduce.recordPairs(
      recorder,
      scratch,
      values,
      this.#table.rows,
      this.groups,
      reduction,
      output,
    )
    return output
  }

  /** A column of what a program gives for each group. */
  finish(builder: ProgramBuilder, type: ValueType, from: QueryColumn, nullable: boolean): QueryColumn {
    const { count } = this.groups
    const validity = nullable ? this.work.ones(count) : undefined
    const output = { words: valueWords(type), validity }
    const values = this.work.kernels.evaluation.record(this.work, builder.finish(), count, output)
    return { type, values, validity, dictionary: from.dictionary }
  }
}

/** A column without nulls of a number for each group. */
export function numbers(type: ValueType, values: GPUBuffer): QueryColumn {
  return { type, values, validity: undefined, dictionary: undefined }
}
