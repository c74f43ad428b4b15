import type { DeviceMemory } from '../../memory/page-run.js'
import type { KeyWords } from '../../primitives/primitives.js'
import { type Build, evaluateRows } from '../expressions/evaluate.js'
import { ordered } from '../expressions/operators.js'
import type { RowCode } from '../expressions/row-code.js'
import type { RowValue } from '../expressions/row-value.js'
import { sharedDictionary } from '../query/concatenate.js'
import type { DeviceWork } from '../query/device-work.js'
import { bitsFor, valueWords } from '../query/query-column.js'
import type { Table, TableColumn } from '../query/table.js'
import type { StringDictionary } from '../string-dictionary.js'
import { learnFacts, unitedFacts, type ValueFacts } from './column-facts.js'
import type { OrderColumn } from './sortedness.js'

/** Some columns as one unsigned number a row, whose order is theirs. */
export interface PackedKey {
  readonly keys: DeviceMemory
  readonly keyWords: KeyWords
  readonly bits: number
}

/** A part of a packed key: a column's value, or above it whether there is one. */
interface Field {
  readonly column: number
  readonly isRank: boolean
  readonly bits: number
  /** The bits of the value that are turned round; of a rank what it is where there is a value. */
  readonly mask: bigint
  /** By which strings are numbered. */
  readonly dictionary: StringDictionary | undefined
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
  if (by.some(({ column }) => isLong(tables[0]!, column))) {
    const halved = await Promise.all(tables.map((table) => halvedTable(work, table, by)))
    return packTables(
      work,
      halved.map(({ table }) => table),
      halved[0]!.by,
    )
  }
  const buffers = work.device.gpu.limits.maxStorageBuffersPerShaderStage - OWN_BUFFERS
  const packs: Field[][] = []
  for (const field of await fieldsOf(work, tables, by)) {
    const longer = [...(packs.at(-1) ?? []), field]
    const fits = tables.every((table) => buffersOf(table, longer) <= buffers)
    if (packs.length > 0 && fits && bitsOf(longer) <= PACKED_BITS) packs[packs.length - 1] = longer
    else packs.push([field])
  }
  return Promise.all(tables.map((table) => Promise.all(packs.map((pack) => packFields(work, table, pack)))))
}

function isLong({ columns }: Table, column: number): boolean {
  return valueWords(columns[column]!.source.type) === 4
}

/** A table with the halves of columns of 128 bits as columns of their own, by which it is ordered instead. */
async function halvedTable(
  work: DeviceWork,
  table: Table,
  by: readonly OrderColumn[],
): Promise<{ readonly table: Table; readonly by: readonly OrderColumn[] }> {
  const long = by.filter(({ column }) => isLong(table, column))
  const halves = await evaluateRows(
    work,
    { count: table.rows },
    long.flatMap(({ column }) => [half(table.columns[column]!, 'i64'), half(table.columns[column]!, 'u64')]),
  )
  const { length } = table.columns
  const places = by.flatMap((key) => {
    const place = long.indexOf(key)
    if (place < 0) return [key]
    return [0, 1].map((part) => ({ ...key, column: length + 2 * place + part }))
  })
  return { table: table.choose([...table.columns.keys(), ...halves]), by: places }
}

/** @param type of the upper half, or of the lower one */
function half(column: TableColumn, type: 'i64' | 'u64'): Build {
  return (code) => {
    const { value, valid } = code.column(column)
    return code.computed(type, `${value}.${type === 'i64' ? 'zw' : 'xy'}`, { valid })
  }
}

/** Buffers of a kernel that packs, beside those of the columns: its arguments, and the keys. */
const OWN_BUFFERS = 2

function buffersOf({ columns }: Table, pack: readonly Field[]): number {
  const all = pack.flatMap(({ column }) => {
    const { source, rows } = columns[column]!
    return [source.values, source.validity ?? [], rows?.buffer ?? []].flat()
  })
  return new Set(all).size
}

function bitsOf(pack: readonly Field[]): number {
  return pack.reduce((sum, { bits }) => sum + bits, 0)
}

async function packFields(work: DeviceWork, table: Table, pack: readonly Field[]): Promise<PackedKey> {
  const bits = bitsOf(pack)
  const keyWords = bits > 32 ? 2 : 1
  const [packed] = await evaluateRows(work, { count: table.rows }, [
    (code) => packedValue(code, table, pack, keyWords),
  ])
  return { keys: packed!.values, keyWords, bits }
}

/** @param pack the least significant field first */
function packedValue(code: RowCode, table: Table, pack: readonly Field[], words: KeyWords): RowValue {
  const type = words === 2 ? 'u64' : 'u32'
  const key = pack.toReversed().reduce<string | undefined>((key, field) => {
    const value = fieldValue(code, table.columns[field.column]!, field, words)
    if (key === undefined) return value
    // How many bits fields have is no part of the code.
    const bits = code.word(field.bits)
    const above =
      words === 1 ? `(${key} << ${bits})` : `${code.use('values', 'shifted_left')}(${key}, ${bits})`
    return code.let(`${above} | ${value}`)
  }, undefined)
  return code.computed(type, key!)
}

function fieldValue(
  code: RowCode,
  column: TableColumn,
  { isRank, mask, dictionary }: Field,
  words: KeyWords,
): string {
  const constant = (bits: bigint) => code.constant(bits, words).value
  const read = code.column(column)
  const value = ordered(code, dictionary === undefined ? read : code.recoded(read, dictionary))
  const turned = isRank ? constant(mask) : `(${asWords(value, words)} ^ ${constant(mask)})`
  if (value.valid === undefined) return turned
  // Nulls are equal, whatever stands in their place.
  return code.let(`select(${constant(isRank ? mask ^ 1n : 0n)}, ${turned}, ${value.valid})`)
}

/** A value in so many words: those that are left out are the same in all rows. */
function asWords({ value, words }: RowValue, wanted: KeyWords): string {
  if (words === wanted) return value
  return wanted === 2 ? `vec2u(${value}, 0u)` : `${value}.x`
}

/** The fields of all columns, the least significant first; what needs no bits is left out. */
async function fieldsOf(
  work: DeviceWork,
  tables: readonly Table[],
  by: readonly OrderColumn[],
): Promise<Field[]> {
  const filled = tables.some(({ rows }) => rows > 0) ? tables.filter(({ rows }) => rows > 0) : tables
  const asked = filled.map(({ columns, rows }) => ({
    columns: by.map(({ column }) => columns[column]!),
    rows,
  }))
  await learnFacts(work, asked)
  return by.toReversed().flatMap((key) => {
    const dictionary = sharedDictionary(tables, key.column)
    const facts = unitedFacts(filled.map(({ columns }) => work.facts.of(columns[key.column]!)))
    const bits = dictionary === undefined ? facts : { bits: bitsFor(dictionary.size), common: 0n }
    return columnFields(key, { ...facts, ...bits }, dictionary)
  })
}

function columnFields(
  { column, descending, nullsFirst }: OrderColumn,
  { bits, common, nulls }: ValueFacts,
  dictionary: StringDictionary | undefined,
): Field[] {
  const mask = common ^ (descending ? (1n << BigInt(bits)) - 1n : 0n)
  const value = { column, isRank: false, bits, mask, dictionary }
  const rank = { column, isRank: true, bits: 1, mask: nullsFirst ? 1n : 0n, dictionary }
  return [...(bits === 0 ? [] : [value]), ...(nulls ? [rank] : [])]
}
