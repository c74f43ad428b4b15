import type { JoinSide } from '../joins/join-types.js'
import { packKeys } from '../order/row-order.js'
import { concatenate } from './concatenate.js'
import type { DeviceWork } from './device-work.js'
import { selectFlagged } from './expressions.js'
import type { RowNumbers } from './fetch.js'
import { Op } from './opcodes.js'
import { PROGRAM_COLUMNS, ProgramBuilder } from './program.js'
import type { QueryColumn } from './query-column.js'
import { Table } from './table.js'

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

/** @param pairs numbers of columns that are to be equal, or of the two of a band */
export async function joinKeys(
  work: DeviceWork,
  left: Table,
  right: Table,
  pairs: readonly (readonly [left: number, right: number])[],
): Promise<JoinKeys> {
  const ofLeft = await withoutNulls(work, left.choose(pairs.map(([column]) => column)))
  const ofRight = await withoutNulls(work, right.choose(pairs.map(([, column]) => column)))
  // Packed together, so that the same values get the same bits.
  const both = concatenate(work, [ofLeft.keys, ofRight.keys])
  const { keys, keyWords } = await oneKey(work, both)
  const part = (first: number, { keys: { rows: count }, ...side }: Keyed, table: Table): KeyedSide => {
    const own = work.words(count * keyWords)
    work.recorder.copy(keys, first * keyWords * 4, own, 0, count * keyWords * 4)
    const rows = side.numbers === undefined ? {} : { rows: side.numbers.buffer }
    return { side: { keys: own, count, rowBound: table.rows, ...rows }, without: side.without }
  }
  const sides = { left: part(0, ofLeft, left), right: part(ofLeft.keys.rows, ofRight, right) }
  work.submit()
  return { keyWords, ...sides }
}

/** The key columns of the rows that have a whole key, and their numbers where some have none. */
export interface Keyed extends Pick<KeyedSide, 'without'> {
  readonly keys: Table
  readonly numbers: RowNumbers | undefined
}

export async function withoutNulls(work: DeviceWork, table: Table): Promise<Keyed> {
  const columns = table.columns.map((_, i) => table.dense(work, i))
  const nullable = columns.filter(({ validity }) => validity !== undefined)
  if (nullable.length === 0 || table.rows === 0)
    return { keys: table, numbers: undefined, without: undefined }
  const { evaluation, primitives } = work.kernels
  const whole = work.words(table.rows)
  primitives.fill(work.recorder, whole, table.rows, 1)
  let flags: QueryColumn = { type: 'boolean', values: whole, validity: undefined, dictionary: undefined }
  for (let i = 0; i < nullable.length; i += PROGRAM_COLUMNS - 1) {
    const builder = new ProgramBuilder()
    builder.load(flags)
    for (const column of nullable.slice(i, i + PROGRAM_COLUMNS - 1)) {
      builder.load(column)
      builder.unary(Op.isNull)
      builder.unary(Op.not)
      builder.binary(Op.and)
    }
    const values = evaluation.record(work, builder.finish(), table.rows, { words: 1 })
    flags = { ...flags, values }
  }
  const absent = work.words(table.rows)
  primitives.map(work.recorder, flags.values, absent, table.rows, { multiplier: -1, addend: 1 })
  const { numbers, count } = await selectFlagged(work, flags.values, table.rows)
  const without = await selectFlagged(work, absent, table.rows)
  const dense = Table.ofColumns(
    table.rows,
    columns.map((column) => ({ ...column, validity: undefined })),
  )
  return { keys: dense.pick(work, numbers, count), numbers, without }
}

/** All columns as one key: packed into a number if they fit, else numbered by what differs. */
async function oneKey(
  work: DeviceWork,
  table: Table,
): Promise<{ readonly keys: GPUBuffer; readonly keyWords: 1 | 2 }> {
  const { rows } = table
  if (rows === 0) return { keys: work.words(0), keyWords: 1 }
  const by = table.columns.map((_, column) => ({ column, descending: false, nullsFirst: false }))
  const packed = await packKeys(work, table, by)
  if (packed.length === 1) return packed[0]!
  const { groupStarts, primitives } = work.kernels
  if (packed.length > 0) {
    const groups = await groupStarts.group(work, table)
    return { keys: groupStarts.number(work, groups, rows), keyWords: 1 }
  }
  const keys = work.words(rows)
  primitives.fill(work.recorder, keys, rows, 0)
  return { keys, keyWords: 1 }
}
