import type { AggregateFunction, ValueType } from '../../../protocol/query/tree.js'
import type { TypedAggregate, TypedExpression } from '../../../protocol/query/typed.js'
import type { SegmentedReduce } from '../../primitives/primitives.js'
import { emitForNull, emitOrdered, emitRestored } from './compile.js'
import type { DeviceWork } from './device-work.js'
import { evaluateExpression } from './expressions.js'
import type { RowGroups } from './group-starts.js'
import { Op } from './opcodes.js'
import { ProgramBuilder } from './program.js'
import { type QueryColumn, valueWords } from './query-column.js'
import type { Table } from './table.js'

/** Groups of rows; rows are in their own order where there is only one group, of all. */
export type Groups = Pick<RowGroups, 'starts' | 'count'> & { readonly order: GPUBuffer | undefined }

/**
 * Aggregates the rows of each group. Integers are added up as 64 bits, modulo 2^64. Floats are added up in pairs of f32, which have 48 bits; an
 * average is a division of the sum, rounded to f32, by the number of values.
 */
export async function aggregateGroups(
  work: DeviceWork,
  table: Table,
  groups: Groups,
  aggregates: readonly TypedAggregate[],
): Promise<QueryColumn[]> {
  const reduction = new GroupReduction(work, table, groups, await work.kernels.primitives.segmentedReduce())
  const columns: QueryColumn[] = []
  for (const aggregate of aggregates) columns.push(await reduction.aggregate(aggregate))
  return columns
}

/** The aggregates over one set of groups, which share what they have in common. */
class GroupReduction {
  readonly #work: DeviceWork
  readonly #table: Table
  readonly #groups: Groups
  readonly #reduce: SegmentedReduce
  /** What is computed already, by what it is. */
  readonly #known = new Map<string, QueryColumn>()

  constructor(work: DeviceWork, table: Table, groups: Groups, reduce: SegmentedReduce) {
    this.#work = work
    this.#table = table
    this.#groups = groups
    this.#reduce = reduce
  }

  async aggregate({ function: fn, value }: TypedAggregate): Promise<QueryColumn> {
    if (value === undefined || fn === 'count') return this.#count(value)
    // Whether there may be groups without a value.
    const nullable = value.nullable || this.#groups.order === undefined
    const reduced = fn === 'min' || fn === 'max' ? await this.#extreme(fn, value) : await this.#sum(value)
    if (fn !== 'avg' && !nullable) return reduced
    const count = await this.#count(value)
    const builder = new ProgramBuilder()
    builder.load(reduced)
    if (fn === 'avg') emitDivision(builder, reduced, count)
    builder.load(count)
    builder.constant(0n)
    builder.binary(Op.equal)
    builder.absent()
    builder.chooseLast()
    return this.#finish(builder, fn === 'avg' ? 'f32' : reduced.type, reduced, nullable)
  }

  #count(value: TypedExpression | undefined): Promise<QueryColumn> {
    const counted = value?.nullable === true ? value : undefined
    return this.#once('count', counted, async () => {
      const values = this.#work.words(this.#groups.count)
      const column: QueryColumn = { type: 'u32', values, validity: undefined, dictionary: undefined }
      if (counted === undefined) {
        this.#record(values, 'count', this.#work.absent)
        return column
      }
      const builder = new ProgramBuilder()
      builder.load(this.#column(counted))
      builder.unary(Op.isNull)
      builder.unary(Op.not)
      this.#record(values, 'sum', this.#inOrder(builder, 1))
      return column
    })
  }

  #sum(value: TypedExpression): Promise<QueryColumn> {
    return this.#once('sum', value, async () => {
      const column = this.#column(value)
      const builder = new ProgramBuilder()
      builder.load(column)
      if (column.type === 'i32') builder.unary(Op.extendSign)
      if (value.nullable) emitForNull(builder, column, 0n)
      const values = this.#inOrder(builder, 2)
      const isFloat = column.type === 'f32'
      const sums = await this.#recordPairs(isFloat ? 'floatSum' : 'sum', values)
      const type = column.type === 'u32' ? 'u64' : column.type === 'i32' ? 'i64' : column.type
      const pairs: QueryColumn = {
        type: isFloat ? 'u64' : type,
        values: sums,
        validity: undefined,
        dictionary: undefined,
      }
      if (!isFloat) return pairs
      // The first of a pair is the sum, rounded.
      const first = new ProgramBuilder()
      first.load(pairs)
      return this.#finish(first, 'f32', pairs, false)
    })
  }

  #extreme(fn: 'min' | 'max', value: TypedExpression): Promise<QueryColumn> {
    return this.#once(fn, value, async () => {
      const column = this.#column(value)
      const { type } = column
      const words = valueWords(type)
      const builder = new ProgramBuilder()
      builder.load(column)
      emitOrdered(builder, type)
      if (value.nullable) emitForNull(builder, column, fn === 'min' ? (1n << BigInt(32 * words)) - 1n : 0n)
      const ordered = this.#inOrder(builder, words)
      let extremes: GPUBuffer
      if (words === 2) extremes = await this.#recordPairs(fn, ordered)
      else {
        extremes = this.#work.words(this.#groups.count)
        this.#record(extremes, fn, ordered)
      }
      const source: QueryColumn = { ...column, values: extremes, validity: undefined }
      const restore = new ProgramBuilder()
      restore.load(source)
      emitRestored(restore, type)
      return this.#finish(restore, type, source, false)
    })
  }

  #column(value: TypedExpression): QueryColumn {
    return evaluateExpression(this.#work, this.#table, value)
  }

  async #once(
    what: AggregateFunction,
    value: TypedExpression | undefined,
    make: () => Promise<QueryColumn>,
  ): Promise<QueryColumn> {
    const name = `${what} ${JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part))}`
    const column = this.#known.get(name) ?? (await make())
    this.#known.set(name, column)
    return column
  }

  /** What a program gives for the rows, in the order of the groups. */
  #inOrder(builder: ProgramBuilder, words: 1 | 2): GPUBuffer {
    const { rows } = this.#table
    const { evaluation, primitives } = this.#work.kernels
    const values = evaluation.record(this.#work, builder.finish(), rows, { words })
    const { order } = this.#groups
    if (order === undefined) return values
    const ordered = this.#work.words(rows * words)
    primitives.gather(this.#work.recorder, values, order, ordered, rows, words)
    return ordered
  }

  #record(output: GPUBuffer, reduction: 'count' | 'sum' | 'min' | 'max', values: GPUBuffer): void {
    const { recorder, scratch } = this.#work
    this.#reduce.record(recorder, scratch, values, this.#table.rows, this.#groups, reduction, output)
  }

  async #recordPairs(reduction: 'sum' | 'floatSum' | 'min' | 'max', values: GPUBuffer): Promise<GPUBuffer> {
    const { recorder, scratch } = this.#work
    const output = this.#work.words(2 * this.#groups.count)
    await this.#reduce.recordPairs(
      recorder,
      scratch,
      values,
      this.#table.rows,
      this.#groups,
      reduction,
      output,
    )
    return output
  }

  /** A column of what a program gives for each group. */
  #finish(builder: ProgramBuilder, type: ValueType, from: QueryColumn, nullable: boolean): QueryColumn {
    const { count } = this.#groups
    const validity = nullable ? this.#work.ones(count) : undefined
    const { evaluation } = this.#work.kernels
    const words = valueWords(type)
    const values = evaluation.record(this.#work, builder.finish(), count, { words, validity })
    return { type, values, validity, dictionary: from.dictionary }
  }
}

/** The last value, a sum, divided by a number of values. */
function emitDivision(builder: ProgramBuilder, sum: QueryColumn, count: QueryColumn): void {
  if (sum.type !== 'f32') builder.unary(sum.type === 'i64' ? Op.signedToFloat : Op.unsignedToFloat)
  builder.load(count)
  builder.unary(Op.unsignedToFloat)
  builder.binary(Op.divideFloat)
}
