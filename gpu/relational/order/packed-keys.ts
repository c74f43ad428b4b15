import type { KeyWords } from '../../primitives/primitives.js'
import { emitForNull, emitOrdered } from '../query/compile.js'
import { withOneDictionary } from '../query/concatenate.js'
import type { DeviceWork } from '../query/device-work.js'
import { Op } from '../query/opcodes.js'
import { PROGRAM_COLUMNS, type Program, ProgramBuilder } from '../query/program.js'
import type { QueryColumn } from '../query/query-column.js'
import type { Table } from '../query/table.js'
import { learnFacts, unitedFacts, type ValueFacts } from './column-facts.js'
import type { OrderColumn } from './sortedness.js'

/** Some columns as one unsigned number a row, whose order is theirs. */
export interface PackedKey {
  readonly keys: GPUBuffer
  readonly keyWords: KeyWords
  readonly bits: number
}

/** A part of a packed key: a column's value with a rank for nulls, the value alone, or the rank alone. */
interface Field {
  readonly by: OrderColumn
  readonly part: 'both' | 'value' | 'rank'
  readonly bits: number
  readonly facts: ValueFacts
}

const PACKED_BITS = 64

/** The columns as packed keys, the least significant first; none where all rows are equal. */
export async function packKeys(
  work: DeviceWork,
  table: Table,
  by: readonly OrderColumn[],
): Promise<readonly PackedKey[]> {
  const [keys] = await packTables(work, [table], by)
  return keys!
}

/** As `packKeys`, of tables with the same columns: rows of two of them that are equal have the same keys. */
export async function packTables(
  work: DeviceWork,
  tables: readonly Table[],
  by: readonly OrderColumn[],
): Promise<readonly (readonly PackedKey[])[]> {
  const comparable = await withOneDictionary(work, tables)
  const packs: Field[][] = []
  for (const field of await fieldsOf(work, comparable, by)) {
    const last = packs.at(-1)
    const bits = last?.reduce((sum, packed) => sum + packed.bits, field.bits) ?? Number.POSITIVE_INFINITY
    if (last !== undefined && bits <= PACKED_BITS && last.length < PROGRAM_COLUMNS) last.push(field)
    else packs.push([field])
  }
  return comparable.map((table) => packs.map((pack) => packFields(work, table, pack)))
}

function packFields(work: DeviceWork, table: Table, pack: readonly Field[]): PackedKey {
  const bits = pack.reduce((sum, field) => sum + field.bits, 0)
  const keyWords = bits > 32 ? 2 : 1
  const program = packingProgram(work, table, pack.toReversed())
  const keys = work.kernels.evaluation.record(work, program, table.rows, { words: keyWords })
  return { keys, keyWords, bits }
}

/** The fields of all columns, the least significant first; what needs no bits is left out. */
async function fieldsOf(
  work: DeviceWork,
  tables: readonly Table[],
  by: readonly OrderColumn[],
): Promise<Field[]> {
  const filled = tables.some(({ rows }) => rows > 0) ? tables.filter(({ rows }) => rows > 0) : tables
  const places = (column: number) => filled.map(({ columns, rows }) => ({ column: columns[column]!, rows }))
  await learnFacts(
    work,
    by.flatMap(({ column }) => places(column)),
  )
  const fields = by.toReversed().flatMap((by): Field[] => {
    const facts = unitedFacts(places(by.column).map(({ column }) => work.facts.of(column)))
    const field = { by, facts }
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
function packingProgram(work: DeviceWork, table: Table, fields: readonly Field[]): Program {
  const builder = new ProgramBuilder()
  fields.forEach((field, i) => {
    emitField(builder, table.dense(work, field.by.column), field)
    if (i > 0) builder.shiftOr(field.bits)
  })
  return builder.finish()
}

function emitField(builder: ProgramBuilder, column: QueryColumn, field: Field): void {
  const { by, part, bits, facts } = field
  const nullRank = by.nullsFirst ? 0n : 1n
  if (part === 'value') {
    emitValue(builder, column, field, bits)
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
  emitValue(builder, column, field, valueBits)
  builder.shiftOr(valueBits)
  emitForNull(builder, column, nullRank << BigInt(valueBits))
}

/** A column's value as a number of so many bits. */
function emitValue(builder: ProgramBuilder, column: QueryColumn, { by, facts }: Field, bits: number): void {
  builder.load(column)
  emitOrdered(builder, column.type)
  if (facts.common > 0n) flip(builder, facts.common)
  if (by.descending) flip(builder, (1n << BigInt(bits)) - 1n)
}

function flip(builder: ProgramBuilder, bits: bigint): void {
  builder.constant(bits)
  builder.binary(Op.xor)
}
