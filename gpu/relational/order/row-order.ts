import type { KeyWords } from '../../primitives/primitives.js'
import { emitForNull, emitOrdered } from '../query/compile.js'
import type { DeviceWork } from '../query/device-work.js'
import { Op } from '../query/opcodes.js'
import { PROGRAM_COLUMNS, type Program, ProgramBuilder } from '../query/program.js'
import type { QueryColumn } from '../query/query-column.js'
import type { Table } from '../query/table.js'
import { type ColumnFacts, factsOf } from './column-facts.js'
import { isOrderedBy, type OrderColumn } from './sortedness.js'

/** Some columns as one unsigned number a row, whose order is theirs. */
export interface PackedKey {
  readonly keys: GPUBuffer
  readonly keyWords: KeyWords
  readonly bits: number
}

/** Rows in order. */
export interface RowOrder {
  /** Their numbers. */
  readonly order: GPUBuffer
  /** The most significant key, of rows in this order. */
  readonly sorted: GPUBuffer
}

/** A part of a packed key: a column's value with a rank for nulls, the value alone, or the rank alone. */
interface Field {
  readonly by: OrderColumn
  readonly column: QueryColumn
  readonly part: 'both' | 'value' | 'rank'
  readonly bits: number
  readonly facts: ColumnFacts
}

const PACKED_BITS = 64

/**
 * Orders the rows of a table, stably: columns are packed into numbers of up to 64 bits (Diamos et al. Figure 1), and what does not fit into
 * one is sorted number by number, the least significant first.
 * @returns numbers of rows; undefined where they are in order
 */
export async function orderRows(
  work: DeviceWork,
  table: Table,
  by: readonly OrderColumn[],
): Promise<GPUBuffer | undefined> {
  if (await isOrderedBy(work, table, by)) return undefined
  return sortKeys(work, await packKeys(work, table, by), table.rows)?.order
}

/**
 * Sorts rows by packed keys, stably.
 * @returns undefined where there are no keys
 */
export function sortKeys(work: DeviceWork, keys: readonly PackedKey[], rows: number): RowOrder | undefined {
  const { primitives } = work.kernels
  let last: RowOrder | undefined
  for (const { keys: column, keyWords, bits } of keys) {
    let sortable = column
    if (last !== undefined) {
      sortable = work.words(rows * keyWords)
      primitives.gather(work.recorder, column, last.order, sortable, rows, keyWords)
    }
    const sorted = primitives.sort(work.recorder, work.scratch, sortable, last?.order, rows, keyWords, {
      bits,
    })
    last = { order: sorted.values, sorted: sorted.keys }
    work.movedBytes += rows * 4 * (keyWords + 1) * Math.ceil(bits / 8)
  }
  return last
}

/** The columns as packed keys, the least significant first; none where all rows are equal. */
export async function packKeys(
  work: DeviceWork,
  table: Table,
  by: readonly OrderColumn[],
): Promise<readonly PackedKey[]> {
  const fields = await fieldsOf(work, table, by)
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
    const keys = work.kernels.evaluation.record(work, program, table.rows, { words: keyWords })
    return { keys, keyWords, bits }
  })
}

/** The fields of all columns, the least significant first; what needs no bits is left out. */
async function fieldsOf(work: DeviceWork, table: Table, by: readonly OrderColumn[]): Promise<Field[]> {
  const measured = by.map(({ column }) => table.columns[column]!)
  const all = await factsOf(work, measured, table.rows)
  const fields = by.toReversed().flatMap((by, i): Field[] => {
    const facts = all[all.length - 1 - i]!
    const field = { by, column: table.dense(work, by.column), facts }
    const { bits } = facts
    if (!facts.nulls) return [{ ...field, part: 'value', bits }]
    if (bits < PACKED_BITS) return [{ ...field, part: 'both', bits: bits + 1 }]
    return [
      { ...field, part: 'value', bits },
      { ...field, part: 'rank', bits: 1 },
    ]
  })
  return fields.filter(({ bits }) => bits > 0)
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

function emitField(builder: ProgramBuilder, field: Field): void {
  const { by, column, part, bits, facts } = field
  const nullRank = by.nullsFirst ? 0n : 1n
  if (part === 'value') {
    emitValue(builder, field, bits)
    // Nulls are equal, whatever stands in their place.
    if (facts.nulls) emitForNull(builder, column, 0n)
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
  emitValue(builder, field, valueBits)
  builder.shiftOr(valueBits)
  emitForNull(builder, column, nullRank << BigInt(valueBits))
}

/** A column's value as a number of so many bits. */
function emitValue(builder: ProgramBuilder, { by, column, facts }: Field, bits: number): void {
  builder.load(column)
  emitOrdered(builder, column.type)
  if (facts.common > 0n) flip(builder, facts.common)
  if (by.descending) flip(builder, (1n << BigInt(bits)) - 1n)
}

function flip(builder: ProgramBuilder, bits: bigint): void {
  builder.constant(bits)
  builder.binary(Op.xor)
}
