import { WarpdexError } from '../../../protocol/errors.js'
import type { TypedExpression } from '../../../protocol/query/typed.js'
import { emitForNull } from './compile.js'
import type { LongSum } from './finish-sums.js'
import { type GroupRows, numbers } from './group-rows.js'
import { Op } from './opcodes.js'
import { ProgramBuilder } from './program.js'
import { type QueryColumn, valueWords } from './query-column.js'

/** Sums of groups before they are rounded, or known to fit: integers of 64 bits, or longer ones. */
export type RawSums =
  | { readonly kind: 'exact'; readonly column: QueryColumn }
  | { readonly kind: LongSum; readonly values: GPUBuffer }

/** The bit that an i32 is raised by where it is added up as a u32. */
const RAISED_BIT = 31

/**
 * Adds up the values of each group. Integers of 32 bits have sums of 64, which no 2^32 rows leave; those of 64 bits are added up in 96. Floats
 * are added up in pairs of f32.
 * @param counts values of each group, as u32
 */
export async function sumGroups(
  rows: GroupRows,
  value: TypedExpression,
  counts: QueryColumn,
): Promise<RawSums> {
  const column = await rows.column(value)
  const { type } = column
  switch (type) {
    case 'u32':
      return {
        kind: 'exact',
        column: numbers('u64', rows.reduce(valuesOf(rows, value, column), 'wideSum', 2)),
      }
    case 'i32':
      return { kind: 'exact', column: signedSums(rows, value, column, counts) }
    case 'f32':
      return { kind: 'float', values: rows.reduce(valuesOf(rows, value, column), 'floatSum', 2) }
    case 'u64':
    case 'i64': {
      const reduction = type === 'u64' ? 'longSum' : 'signedLongSum'
      const values = await rows.reducePairs(valuesOf(rows, value, column), reduction, 4)
      return { kind: type === 'u64' ? 'unsigned' : 'signed', values }
    }
    default:
      throw new WarpdexError('INTERNAL', `there is no sum of ${type}`)
  }
}

/**
 * The sums as a column.
 * @param fault a bit of `DeviceWork.faults`, set where one does not fit 64 bits
 */
export function finishedSums(rows: GroupRows, sums: RawSums, fault: number): QueryColumn {
  const { work, groups } = rows
  if (sums.kind === 'exact') return sums.column
  if (sums.kind !== 'float') {
    const values = work.kernels.finishSums.narrow(work, sums.values, groups.count, sums.kind, fault)
    return numbers(sums.kind === 'signed' ? 'i64' : 'u64', values)
  }
  // The first of a pair is the sum, rounded.
  const pairs = numbers('u64', sums.values)
  const first = new ProgramBuilder()
  first.load(pairs)
  return rows.finish(first, 'f32', pairs, false)
}

/**
 * The sums divided by the numbers of values, as the nearest f32; anything where there are no values.
 * @param counts as for `sumGroups`
 */
export function averages(rows: GroupRows, sums: RawSums, counts: QueryColumn): QueryColumn {
  const { work, groups } = rows
  if (sums.kind !== 'exact') {
    const { finishSums } = work.kernels
    return numbers('f32', finishSums.average(work, sums.values, counts.values, groups.count, sums.kind))
  }
  const builder = new ProgramBuilder()
  builder.load(sums.column)
  builder.load(counts)
  builder.binary(sums.column.type === 'i64' ? Op.divideSigned : Op.divideUnsigned)
  return rows.finish(builder, 'f32', sums.column, false)
}

/** Words to add up: nulls are 0. */
function valuesOf(rows: GroupRows, { nullable }: TypedExpression, column: QueryColumn): GPUBuffer {
  const words = valueWords(column.type)
  if (!nullable) return rows.inOrder(column.values, words)
  const builder = new ProgramBuilder()
  builder.load(column)
  emitForNull(builder, column, 0n)
  return rows.computed(builder, words)
}

/** Signed words are added up as unsigned ones, each raised by the same, and the sum lowered by as much for each value. */
function signedSums(
  rows: GroupRows,
  { nullable }: TypedExpression,
  column: QueryColumn,
  counts: QueryColumn,
): QueryColumn {
  const raised = new ProgramBuilder()
  raised.load(column)
  raised.constant(1n << BigInt(RAISED_BIT))
  raised.binary(Op.xor)
  if (nullable) emitForNull(raised, column, 0n)
  const sums = numbers('u64', rows.reduce(rows.computed(raised, 1), 'wideSum', 2))
  const lowered = new ProgramBuilder()
  lowered.load(sums)
  lowered.load(counts)
  lowered.constant(0n)
  lowered.shiftOr(RAISED_BIT)
  lowered.binary(Op.subtractFreely)
  return rows.finish(lowered, 'i64', sums, false)
}
