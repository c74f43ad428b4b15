import { storageOf } from '../../../protocol/column-types.js'
import { isFloat } from '../../../protocol/query/value-types.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import { evaluateRows } from '../expressions/evaluate.js'
import type { RowCode } from '../expressions/row-code.js'
import { type ColumnFacts, learnFacts, unitedFacts } from '../order/column-facts.js'
import { type PackedKey, packTables } from '../order/packed-keys.js'
import { ascending, isOrderedBy } from '../order/sortedness.js'
import { concatenate } from '../query/concatenate.js'
import type { DeviceWork } from '../query/device-work.js'
import { plainColumn, type QueryColumn, valueWords } from '../query/query-column.js'
import type { Table, TableColumn } from '../query/table.js'
import type { JoinRequest, JoinSide } from './join-types.js'

/** Both sides of a join as one unsigned key a row, equal where all of a pair's columns are. */
export type JoinKeys = Required<Pick<JoinRequest, 'left' | 'right' | 'keyWords' | 'keyBits'>>

/** What the columns of keys are compared by. */
export interface KeyComparison {
  /** Numbers of columns that are to be equal, or of the two of a band. */
  readonly pairs: readonly (readonly [left: number, right: number])[]
  /** Whether keys must be in the order of their values. */
  readonly band: boolean
  /** Whether nulls are equal to each other; else to nothing. */
  readonly nullsEqual: boolean
}

/** Waits for the device only where something is to be learnt of columns. */
export async function joinKeys(
  work: DeviceWork,
  left: Table,
  right: Table,
  { pairs, band, nullsEqual }: KeyComparison,
): Promise<JoinKeys> {
  const [ofLeft, ofRight] = [
    left.choose(pairs.map(([column]) => column)),
    right.choose(pairs.map(([, column]) => column)),
  ]
  const plain = pairs.length === 1 ? await plainKeys(work, ofLeft, ofRight, band) : undefined
  return plain ?? packedKeys(work, ofLeft, ofRight, nullsEqual)
}

/** What is known of a table's keys without asking the device. */
export function keyFacts(
  work: DeviceWork,
  table: Table,
  column: number,
): Pick<ColumnFacts, 'ascending' | 'unique'> {
  const { by = [], unique = false } = table.order ?? {}
  const isKey = unique && by.length === 1 && by[0]!.column === column
  return {
    ascending: isOrderedBy(work, table, [ascending(column)]),
    unique: isKey || work.facts.of(table.columns[column]!).unique,
  }
}

/** The values of a pair of columns as they are, where these are keys. */
async function plainKeys(
  work: DeviceWork,
  left: Table,
  right: Table,
  band: boolean,
): Promise<JoinKeys | undefined> {
  const columns = [left.columns[0]!, right.columns[0]!]
  const [{ type, dictionary }, other] = [columns[0]!.source, columns[1]!.source]
  const storage = storageOf(type)
  const isSigned = storage === 'i32' || storage === 'i64'
  const keyWords = valueWords(type)
  if (keyWords === 4 || isFloat(type) || dictionary !== other.dictionary || (band && isSigned))
    return undefined
  // What is stored is learnt once, and of others nothing has to be known.
  await learnFacts(work, [{ columns, rows: 0 }])
  const { bits: keyBits, nulls } = unitedFacts(columns.map((column) => work.facts.of(column)))
  if (nulls) return undefined
  const side = (table: Table): JoinSide => {
    const { ascending, unique } = keyFacts(work, table, 0)
    // Negative numbers are the largest ones here.
    const sorted = ascending && (!isSigned || keyBits < 32 * keyWords)
    return { keys: table.dense(work, 0).values, count: table.rows, sorted, unique }
  }
  return { keyWords, keyBits, left: side(left), right: side(right) }
}

/** The most bits of a key beside which there is room to set nulls apart. */
const MOST_BITS_BESIDE_NULLS = 62

/** All columns as one key: packed into a number if they fit, else numbered by what differs. */
async function packedKeys(
  work: DeviceWork,
  left: Table,
  right: Table,
  nullsEqual: boolean,
): Promise<JoinKeys> {
  const by = left.columns.map((_, column) => ascending(column))
  const tables = [left, right]
  const packed = await packTables(work, tables, by)
  const nulls = tables.map(({ columns }) => {
    const isNullable = (column: TableColumn) => !nullsEqual && work.facts.of(column).nulls
    return [...columns.keys()].filter((i) => isNullable(columns[i]!))
  })
  const hasNulls = nulls.some(({ length }) => length > 0)
  const mostBits = hasNulls ? MOST_BITS_BESIDE_NULLS : 64
  const isOne = packed.every(([key, ...others]) => key && others.length === 0 && key.bits <= mostBits)
  const keys = isOne ? packed.map(([key]) => key!) : await numberedKeys(work, tables, packed[0]!.length === 0)
  const sides = tables.map((table, i): JoinSide => {
    return { keys: keys[i]!.keys, count: table.rows, sorted: isOrderedBy(work, table, by) }
  })
  const { keyWords, bits } = keys[0]!
  if (!hasNulls) return { left: sides[0]!, right: sides[1]!, keyWords, keyBits: bits }
  const apart = await Promise.all(
    tables.map((table, i) => setNullsApart(work, table, keys[i]!, nulls[i]!, NULL_MARKS[i]!)),
  )
  // The keys of rows with a null come last: in an order by one column these rows do too, in one by several they may be anywhere.
  const inOrder = (side: number) => by.length === 1 || nulls[side]!.length === 0
  const [ofLeft, ofRight] = sides.map((side, i) => ({
    ...side,
    keys: apart[i]!,
    sorted: side.sorted === true && inOrder(i),
  }))
  return { left: ofLeft!, right: ofRight!, keyWords: 2, keyBits: 64 }
}

/** The rows of tables by the numbers of their groups. */
async function numberedKeys(
  work: DeviceWork,
  tables: readonly Table[],
  allEqual: boolean,
): Promise<PackedKey[]> {
  const { groupStarts, primitives } = work.kernels
  const both = await concatenate(work, tables)
  let numbers = work.words(both.rows)
  if (allEqual) primitives.fill(work.recorder, numbers, both.rows, 0)
  else numbers = groupStarts.place(work, await groupStarts.find(work, both), both.rows, 'group')
  let first = 0
  return tables.map(({ rows }) => {
    const keys = work.words(rows)
    work.recorder.copy(numbers, first * 4, keys, 0, rows * 4)
    first += rows
    return { keys, keyWords: 1, bits: allEqual ? 0 : 32 }
  })
}

/** Highest words of the keys of rows with a null, above all others. */
const NULL_MARKS = [2 ** 30, 2 ** 31]

/** Columns that a kernel looks at for nulls, at most. */
const TESTED_COLUMNS = 4

/** Keys of two words, in which each row with a null has one that no other row has on either side. */
async function setNullsApart(
  work: DeviceWork,
  { columns, rows }: Table,
  packed: PackedKey,
  nullable: readonly number[],
  mark: number,
): Promise<DeviceMemory> {
  let keys = plainColumn(packed.keyWords === 2 ? 'u64' : 'u32', packed.keys)
  for (let first = 0; first === 0 || first < nullable.length; first += TESTED_COLUMNS) {
    const tested = nullable.slice(first, first + TESTED_COLUMNS)
    const setApart = (code: RowCode) => {
      const { value, words } = code.column(keys)
      const whole = words === 2 ? value : `vec2u(${value}, 0u)`
      const valid = tested.map((number) => code.hasValue(columns[number]!) ?? 'true').join(' && ')
      const key = valid === '' ? whole : `select(vec2u(row, ${code.word(mark)}), ${whole}, ${valid})`
      return code.computed('u64', key)
    }
    ;[keys] = (await evaluateRows(work, { count: rows }, [setApart])) as [QueryColumn]
  }
  return keys.values
}
