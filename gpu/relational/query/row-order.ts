import type { ValueType } from '../../../protocol/query/tree.js'
import type { KeyWords } from '../../primitives/primitives.js'
import { emitForNull, emitOrdered } from './compile.js'
import type { DeviceWork } from './device-work.js'
import type { CommonBits } from './differing-bits.js'
import { Op } from './opcodes.js'
import { PROGRAM_COLUMNS, type Program, ProgramBuilder } from './program.js'
import { type QueryColumn, valueBits, valueWords } from './query-column.js'

/** A column that rows are ordered by. */
export interface OrderColumn {
  readonly column: QueryColumn
  readonly descending: boolean
  readonly nullsFirst: boolean
}

/** Some columns as one unsigned number a row, whose order is theirs. */
export interface PackedKey {
  readonly keys: GPUBuffer
  readonly keyWords: KeyWords
  readonly bits: number
}

/** Rows in order: their numbers, and the keys of rows (not in that order), the most significant last. */
export interface RowOrder {
  readonly order: GPUBuffer
  readonly keys: readonly PackedKey[]
}

/** A part of a packed key: a column's value with a rank for nulls, the value alone, or the rank alone. */
interface Field {
  readonly by: OrderColumn
  readonly part: 'both' | 'value' | 'rank'
  readonly bits: number
  readonly common: CommonBits | undefined
}

/** Rows from which on it is worth a round trip to learn how many bits the values of a column need. */
const MEASURED_ROWS = 1024

const PACKED_BITS = 64

/**
 * Orders the rows of columns, stably: columns are packed into numbers of up to 64 bits (Diamos et al. Figure 1), and what does not fit into
 * one is sorted number by number, the least significant first.
 */
export async function orderRows(
  work: DeviceWork,
  columns: readonly OrderColumn[],
  rows: number,
): Promise<RowOrder> {
  const { primitives } = work.kernels
  const keys = await packKeys(work, columns, rows)
  let order: GPUBuffer | undefined
  for (const { keys: column, keyWords, bits } of keys) {
    let sortable = column
    if (order !== undefined) {
      sortable = work.words(rows * keyWords)
      primitives.gather(work.recorder, column, order, sortable, rows, keyWords)
    }
    const sorted = primitives.sort(work.recorder, work.scratch, sortable, order, rows, keyWords, { bits })
    order = sorted.values
    work.movedBytes += rows * 4 * (keyWords + 1) * Math.ceil(bits / 8)
  }
  if (order === undefined) {
    order = work.words(rows)
    primitives.iota(work.recorder, order, rows)
  }
  return { order, keys }
}

/** The columns as packed keys, the least significant first; none where all rows are equal. */
export async function packKeys(
  work: DeviceWork,
  columns: readonly OrderColumn[],
  rows: number,
): Promise<readonly PackedKey[]> {
  const fields = await fieldsOf(work, columns, rows)
  const packs: Field[][] = []
  for (const field of fields) {
    const last = packs.at(-1)
    const bits = last?.reduce((sum, packed) => sum + packed.bits, field.bits) ?? Number.POSITIVE_INFINITY
    if (last !== undefined && bits <= PACKED_BITS && last.length < PROGRAM_COLUMNS) last.push(field)
    else packs.push([field])
  }
  return packs.map((pack) => {
    const bits = pack.reduce((sum, field) => sum + field.bits, 0)
    const keyWords = bits > 32 ? 2 : 1
    const program = packingProgram(pack.toReversed())
    const keys = work.kernels.evaluation.record(work, program, rows, { words: keyWords })
    return { keys, keyWords, bits }
  })
}

/** The fields of all columns, the least significant first; what needs no bits is left out. */
async function fieldsOf(work: DeviceWork, columns: readonly OrderColumn[], rows: number): Promise<Field[]> {
  const integers = columns.filter(({ column: { type } }) => isInteger(type))
  const measured = rows < MEASURED_ROWS ? [] : await measure(work, integers, rows)
  const fields = columns.toReversed().flatMap((by): Field[] => {
    const { type, dictionary, validity } = by.column
    const common = measured[integers.indexOf(by)]
    const bits = common?.bits ?? valueBits(type, dictionary)
    if (validity === undefined) return [{ by, part: 'value', bits, common }]
    if (bits < PACKED_BITS) return [{ by, part: 'both', bits: bits + 1, common }]
    return [
      { by, part: 'value', bits, common },
      { by, part: 'rank', bits: 1, common },
    ]
  })
  return fields.filter(({ bits }) => bits > 0)
}

function measure(work: DeviceWork, columns: readonly OrderColumn[], rows: number): Promise<CommonBits[]> {
  const values = columns.map(({ column }) => column)
  return work.kernels.differingBits.measure(work, values, rows)
}

function isInteger(type: ValueType): boolean {
  return type === 'u32' || type === 'i32' || type === 'u64' || type === 'i64'
}

/** @param fields the most significant first */
function packingProgram(fields: readonly Field[]): Program {
  const builder = new ProgramBuilder()
  fields.forEach((field, i) => {
    emitField(builder, field)
    if (i > 0) builder.shiftOr(field.bits)
  })
  return builder.finish()
}

function emitField(builder: ProgramBuilder, { by, part, bits, common }: Field): void {
  const { column, descending, nullsFirst } = by
  const nullRank = nullsFirst ? 0n : 1n
  if (part === 'value') {
    emitValue(builder, column, descending, bits, common)
    // Nulls are equal, whatever stands in their place.
    if (column.validity !== undefined) emitForNull(builder, column, 0n)
    return
  }
  if (part === 'rank') {
    builder.load(column)
    builder.unary(Op.isNull)
    builder.constant(nullRank ^ 1n)
    builder.binary(Op.xor)
    return
  }
  const valueBits = bits - 1
  builder.constant(nullRank ^ 1n)
  emitValue(builder, column, descending, valueBits, common)
  builder.shiftOr(valueBits)
  emitForNull(builder, column, nullRank << BigInt(valueBits))
}

/** A column's value as a number of so many bits. */
function emitValue(
  builder: ProgramBuilder,
  column: QueryColumn,
  descending: boolean,
  bits: number,
  common: CommonBits | undefined,
): void {
  builder.load(column)
  if (common === undefined || bits === valueWords(column.type) * 32) emitOrdered(builder, column.type)
  else if (common.common > 0n) flip(builder, common.common)
  if (descending) flip(builder, (1n << BigInt(bits)) - 1n)
}

function flip(builder: ProgramBuilder, bits: bigint): void {
  builder.constant(bits)
  builder.binary(Op.xor)
}
