import type { KeyWords } from '../../primitives/primitives.js'
import { evaluateRows } from '../expressions/evaluate.js'
import type { RowCode } from '../expressions/row-code.js'
import type { RowValue } from '../expressions/row-value.js'
import { withOneDictionary } from '../query/concatenate.js'
import type { DeviceWork } from '../query/device-work.js'
import type { Table, TableColumn } from '../query/table.js'
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

/** What a packing kernel binds beside columns: arguments and keys. */
const OWN_BUFFERS = 2

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
  const most = work.device.gpu.limits.maxStorageBuffersPerShaderStage - OWN_BUFFERS
  const fits = (fields: readonly Field[]) =>
    comparable.every(({ columns }) => {
      const bound = fields.flatMap(({ by }) => buffersOf(columns[by.column]!))
      return new Set(bound).size <= most
    })
  const packs: Field[][] = []
  for (const field of await fieldsOf(work, comparable, by)) {
    const last = packs.at(-1)
    const bits = last?.reduce((sum, packed) => sum + packed.bits, field.bits) ?? Number.POSITIVE_INFINITY
    if (last !== undefined && bits <= PACKED_BITS && fits([...last, field])) last.push(field)
    else packs.push([field])
  }
  return Promise.all(
    comparable.map((table) => Promise.all(packs.map((pack) => packFields(work, table, pack)))),
  )
}

async function packFields(work: DeviceWork, table: Table, pack: readonly Field[]): Promise<PackedKey> {
  const bits = pack.reduce((sum, field) => sum + field.bits, 0)
  const [keys] = await evaluateRows(work, table.rows, (code) => [packedFields(code, table, pack)])
  return { keys: keys!.values, keyWords: bits > 32 ? 2 : 1, bits }
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

/** Fields as one number, the least significant first. How many bits they have is no part of the code. */
function packedFields(code: RowCode, table: Table, fields: readonly Field[]): RowValue {
  const bits = fields.reduce((sum, field) => sum + field.bits, 0)
  const words = bits > 32 ? 2 : 1
  const [first, ...others] = fields.toReversed()
  let key = fieldOf(code, table, first!, words)
  for (const field of others) {
    const by = code.word(field.bits)
    const above = words === 2 ? `${code.use('values', 'shifted_left')}(${key}, ${by})` : `(${key} << ${by})`
    key = code.let(`${above} | ${fieldOf(code, table, field, words)}`)
  }
  return code.computed(words === 2 ? 'u64' : 'u32', key)
}

/** WGSL of a field as so many words. */
function fieldOf(code: RowCode, table: Table, { by, part, bits, facts }: Field, words: 1 | 2): string {
  const value = code.ordered(code.column(table.columns[by.column]!))
  const number = (bits: bigint) => code.constant(bits, words).value
  const nullRank = by.nullsFirst ? 0n : 1n
  const otherwise = (isNull: bigint, known: string) =>
    value.valid === undefined ? known : `select(${number(isNull)}, ${known}, ${value.valid})`
  if (part === 'rank') return code.let(otherwise(nullRank, number(nullRank ^ 1n)))
  const valueBits = BigInt(part === 'both' ? bits - 1 : bits)
  const turned = facts.common ^ (by.descending ? (1n << valueBits) - 1n : 0n)
  const low = code.let(`${value.value} ^ ${code.constant(turned, value.words).value}`)
  const own = words === value.words ? low : words === 2 ? `vec2u(${low}, 0u)` : `${low}.x`
  // Nulls are equal, whatever stands in their place.
  if (part === 'value') return facts.nulls ? code.let(otherwise(0n, own)) : own
  const known = `(${own} | ${number((nullRank ^ 1n) << valueBits)})`
  return code.let(otherwise(nullRank << valueBits, known))
}

/** Buffers that a kernel over a column binds. */
function buffersOf({ source, rows }: TableColumn): readonly GPUBuffer[] {
  return [source.values, source.validity, rows?.buffer].filter((buffer) => buffer !== undefined)
}
