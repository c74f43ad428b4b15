import type { AggregateFunction } from '../../../protocol/query/tree.js'
import type { TypedAggregate, TypedExpression } from '../../../protocol/query/typed.js'
import { isFallible } from '../expressions/fallible.js'
import { emitForNull, emitOrdered, emitRestored } from './compile.js'
import { type DeviceWork, sumFault } from './device-work.js'
import { GroupRows, type Groups, numbers } from './group-rows.js'
import { averages, finishedSums, type RawSums, sumGroups } from './group-sums.js'
import { Op } from './opcodes.js'
import { ProgramBuilder } from './program.js'
import { type QueryColumn, valueWords } from './query-column.js'
import type { Table } from './table.js'

/**
 * Aggregates the rows of each group. A sum of integers that does not fit 64 bits is a fault (`sumFault` of the aggregate's number); an average is the
 * float that is nearest to the sum, exact of integers, divided by the number of values.
 */
export async function aggregateGroups(
  work: DeviceWork,
  table: Table,
  groups: Groups,
  aggregates: readonly TypedAggregate[],
): Promise<QueryColumn[]> {
  const reduction = new GroupReduction(new GroupRows(work, table, groups))
  const columns: QueryColumn[] = []
  for (const [number, aggregate] of aggregates.entries()) {
    columns.push(await reduction.aggregate(aggregate, number))
  }
  return columns
}

/** The aggregates over one set of groups, which share what they have in common. */
class GroupReduction {
  readonly #rows: GroupRows
  /** What is computed already, by what it is. */
  readonly #columns = new Map<string, QueryColumn>()
  readonly #sums = new Map<string, RawSums>()

  constructor(rows: GroupRows) {
    this.#rows = rows
  }

  /** @param number of the aggregate among all */
  async aggregate({ function: fn, value }: TypedAggregate, number: number): Promise<QueryColumn> {
    if (value === undefined || fn === 'count')
      return this.#count(value, value !== undefined && isFallible(value))
    const reduced = await this.#reduced(fn, value, number)
    // Whether there may be groups without a value.
    const nullable = value.nullable || this.#rows.groups.isWhole === true
    if (!nullable) return reduced
    const builder = new ProgramBuilder()
    builder.load(reduced)
    builder.load(await this.#count(value))
    builder.constant(0n)
    builder.binary(Op.equal)
    builder.absent()
    builder.chooseLast()
    return this.#rows.finish(builder, reduced.type, reduced, true)
  }

  #reduced(
    fn: Exclude<AggregateFunction, 'count'>,
    value: TypedExpression,
    number: number,
  ): Promise<QueryColumn> {
    if (fn === 'min' || fn === 'max') return this.#extreme(fn, value)
    return once(this.#columns, fn, value, async () => {
      const counts = await this.#count(value)
      const sums = await once(this.#sums, 'sum', value, () => sumGroups(this.#rows, value, counts))
      if (fn === 'avg') return averages(this.#rows, sums, counts)
      return finishedSums(this.#rows, sums, sumFault(number))
    })
  }

  /** @param evaluates whether values are looked at that cannot be null, since they may be faults */
  #count(value: TypedExpression | undefined, evaluates = false): Promise<QueryColumn> {
    const counted = value?.nullable || evaluates ? value : undefined
    return once(this.#columns, 'count', counted, async () => {
      const rows = this.#rows
      if (counted === undefined) return numbers('u32', rows.reduce(rows.work.absent, 'count', 1))
      const builder = new ProgramBuilder()
      builder.load(await rows.column(counted))
      builder.unary(Op.isNull)
      builder.unary(Op.not)
      return numbers('u32', rows.reduce(rows.computed(builder, 1), 'sum', 1))
    })
  }

  #extreme(fn: 'min' | 'max', value: TypedExpression): Promise<QueryColumn> {
    return once(this.#columns, fn, value, async () => {
      const rows = this.#rows
      const column = await rows.column(value)
      const { type } = column
      const words = valueWords(type)
      const builder = new ProgramBuilder()
      builder.load(column)
      emitOrdered(builder, type)
      if (value.nullable) emitForNull(builder, column, fn === 'min' ? (1n << BigInt(32 * words)) - 1n : 0n)
      const ordered = rows.computed(builder, words)
      const extremes = words === 2 ? await rows.reducePairs(ordered, fn, 2) : rows.reduce(ordered, fn, 1)
      const source: QueryColumn = { ...column, values: extremes, validity: undefined }
      const restore = new ProgramBuilder()
      restore.load(source)
      emitRestored(restore, type)
      return rows.finish(restore, type, source, false)
    })
  }
}

async function once<Thing>(
  known: Map<string, Thing>,
  what: AggregateFunction,
  value: TypedExpression | undefined,
  make: () => Promise<Thing>,
): Promise<Thing> {
  const name = `${what} ${JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part))}`
  const thing = known.get(name) ?? (await make())
  known.set(name, thing)
  return thing
}
