import type { ValueType } from '../../../protocol/query/tree.js'
import { Op } from './opcodes.js'
import type { ProgramBuilder } from './program.js'
import type { QueryColumn } from './query-column.js'

const LOWEST_BIT = { i32: 1n << 31n, i64: 1n << 63n } as const

/** Brings the last value, of a type, into the form of an unsigned number with the same order. */
export function emitOrdered(builder: ProgramBuilder, type: ValueType): void {
  if (type === 'f32') builder.unary(Op.orderFloat)
  if (type !== 'i32' && type !== 'i64') return
  builder.constant(LOWEST_BIT[type])
  builder.binary(Op.xor)
}

/** The last value where the column has one, else a number. */
export function emitForNull(builder: ProgramBuilder, column: QueryColumn, number: bigint): void {
  builder.load(column)
  builder.unary(Op.isNull)
  builder.constant(number)
  builder.chooseLast()
}
