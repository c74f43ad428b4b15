import { evaluateRows } from '../expressions/evaluate.js'
import type { RowCode } from '../expressions/row-code.js'
import type { RowValue } from '../expressions/row-value.js'
import type { JoinSide } from '../joins/join-types.js'
import { packTables } from '../order/packed-keys.js'
import { ascending, isOrderedBy } from '../order/sortedness.js'
import { concatenate } from './concatenate.js'
import type { DeviceWork } from './device-work.js'
import { selectFlagged } from './expressions.js'
import type { RowNumbers } from './fetch.js'
import type { QueryColumn } from './query-column.js'
import { Table, type TableColumn } from './table.js'

/** Both sides of a join as one unsigned key a row, equal where all of a pair's columns are, and in their order where there is one pair. */
export interface JoinKeys {
  readonly keyWords: 1 | 2
  readonly left: KeyedSide
  readonly right: KeyedSide
}

export interface KeyedSide {
  readonly side: JoinSide
  /** Rows with a null in their key, which equals nothing; undefined where there is none. */
  readonly without: { readonly numbers: RowNumbers; readonly count: number } | undefined
}

/** The buffers of a side. */
export function sideBuffers({ side, without }: KeyedSide): readonly GPUBuffer[] {
  return [side.keys, side.rows ?? [], without?.numbers.buffer ?? []].flat()
}

/**
 * @param pairs numbers of columns that are to be equal, or of the two of a band
 * @param nullsEqual whether nulls are equal to each other, and not to nothing
 */
export async function joinKeys(
  work: DeviceWork,
  left: Table,
  right: Table,
  pairs: readonly (readonly [left: number, right: number])[],
  nullsEqual = false,
): Promise<JoinKeys> {
  const whole = (keys: Table): Keyed => ({ keys, numbers: undefined, without: undefined })
  const keysOf = (table: Table, columns: readonly number[]) =>
    nullsEqual ? whole(table.choose(columns)) : withoutNulls(work, table.choose(columns))
  const ofLeft = await keysOf(
    left,
    pairs.map(([column]) => column),
  )
  const ofRight = await keysOf(
    right,
    pairs.map(([, column]) => column),
  )
  const [leftKeys, rightKeys, keyWords] = await oneKey(work, ofLeft.keys, ofRight.keys)
  const part = (keys: GPUBuffer, side: Keyed, table: Table): KeyedSide => {
    const { rows: count, columns } = side.keys
    const rows = side.numbers === undefined ? {} : { rows: side.numbers.buffer }
    const sorted = isOrderedBy(
      work,
      side.keys,
      columns.map((_, column) => ascending(column)),
    )
    return { side: { keys, count, rowBound: table.rows, sorted, ...rows }, without: side.without }
  }
  work.submit()
  return { keyWords, left: part(leftKeys, ofLeft, left), right: part(rightKeys, ofRight, right) }
}

/** The key columns of the rows that have a whole key, and their numbers where some have none. */
export interface Keyed extends Pick<KeyedSide, 'without'> {
  readonly keys: Table
  readonly numbers: RowNumbers | undefined
}

export async function withoutNulls(work: DeviceWork, table: Table): Promise<Keyed> {
  const { rows } = table
  const nullable = table.columns.filter(({ source, rows }) => source.validity !== undefined || rows?.outer)
  if (nullable.length === 0 || rows === 0) return { keys: table, numbers: undefined, without: undefined }
  let flags: readonly QueryColumn[] = []
  for (let i = 0; i < nullable.length; i += TESTED_COLUMNS) {
    const tested = nullable.slice(i, i + TESTED_COLUMNS)
    flags = await evaluateRows(work, rows, (code) => wholeness(code, tested, flags[0]))
  }
  const [whole, absent] = flags
  const { numbers, count } = await selectFlagged(work, whole!.values, rows)
  const without = await selectFlagged(work, absent!.values, rows)
  const dense = Table.ofColumns(
    rows,
    table.columns.map((_, i) => ({ ...table.dense(work, i), validity: undefined })),
  )
  return { keys: dense.pick(work, numbers, count), numbers, without }
}

/** Columns that a kernel tests at most. */
const TESTED_COLUMNS = 4

/** Whether a row has a value in each of some columns, and those tested before, and whether not. */
function wholeness(
  code: RowCode,
  tested: readonly TableColumn[],
  before: QueryColumn | undefined,
): RowValue[] {
  const known = tested.map((column) => code.hasValue(column)).filter((bool) => bool !== undefined)
  if (before !== undefined) known.push(`${code.column(before).value} != 0u`)
  const isWhole = known.length === 0 ? 'true' : known.join(' && ')
  return [
    code.computed('boolean', `select(0u, 1u, ${isWhole})`),
    code.computed('boolean', `select(1u, 0u, ${isWhole})`),
  ]
}

/** All columns of both sides as one key: packed into a number if they fit, else numbered by what differs. */
async function oneKey(
  work: DeviceWork,
  left: Table,
  right: Table,
): Promise<readonly [left: GPUBuffer, right: GPUBuffer, keyWords: 1 | 2]> {
  const packed = await packTables(
    work,
    [left, right],
    left.columns.map((_, column) => ascending(column)),
  )
  const [ofLeft, ofRight] = packed.map((keys) => keys[0])
  if (packed[0]!.length === 1) return [ofLeft!.keys, ofRight!.keys, ofLeft!.keyWords]
  const { groupStarts, primitives } = work.kernels
  const both = await concatenate(work, [left, right])
  const numbers =
    packed[0]!.length === 0
      ? filled(both.rows)
      : groupStarts.number(work, await groupStarts.group(work, both), both.rows)
  const own = (first: number, { rows }: Table) => {
    const keys = work.words(rows)
    work.recorder.copy(numbers, first * 4, keys, 0, rows * 4)
    return keys
  }
  return [own(0, left), own(left.rows, right), 1]

  function filled(rows: number): GPUBuffer {
    const keys = work.words(rows)
    primitives.fill(work.recorder, keys, rows, 0)
    return keys
  }
}
