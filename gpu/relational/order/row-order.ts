import type { DeviceMemory } from '../../memory/page-run.js'
import type { DeviceWork } from '../query/device-work.js'
import type { Table } from '../query/table.js'
import { learnFacts } from './column-facts.js'
import { type PackedKey, packKeys } from './packed-keys.js'
import { isOrderedBy, type OrderColumn } from './sortedness.js'

/** Rows in order. */
export interface RowOrder {
  /** Their numbers. */
  readonly order: DeviceMemory
  /** The most significant key, of rows in this order. */
  readonly sorted: DeviceMemory
}

/**
 * Orders the rows of a table, stably: columns are packed into numbers of up to 64 bits (Diamos et al. Figure 1), and what does not fit into
 * one is sorted number by number, the least significant first.
 * @returns numbers of rows; undefined where they are in order
 */
export async function orderRows(
  work: DeviceWork,
  table: Table,
  by: readonly OrderColumn[],
): Promise<DeviceMemory | undefined> {
  if (isOrderedBy(work, table, by)) return undefined
  const columns = by.map(({ column }) => table.columns[column]!)
  await learnFacts(work, [{ columns, rows: table.rows }])
  if (isOrderedBy(work, table, by)) return undefined
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
      work.moves({ read: 4 * rows * (keyWords + 1) })
    }
    const sorted = work.sort({ keys: sortable, values: last?.order }, rows, keyWords, { bits })
    last = { order: sorted.values, sorted: sorted.keys }
  }
  return last
}
