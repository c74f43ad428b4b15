import type { DeviceWork } from '../query/device-work.js'
import type { Table } from '../query/table.js'

/** A column of a table that its rows are ordered by. */
export interface OrderColumn {
  readonly column: number
  readonly descending: boolean
  readonly nullsFirst: boolean
}

/** The order that the rows of a table are in. */
export interface RowsOrder {
  /** The most significant first. */
  readonly by: readonly OrderColumn[]
  /** Whether no two rows are equal in all of these. */
  readonly unique: boolean
}

export function ascending(column: number): OrderColumn {
  return { column, descending: false, nullsFirst: false }
}

/** Whether the rows of a table are known to be ordered by columns. Asks the device nothing. */
export function isOrderedBy(work: DeviceWork, table: Table, by: readonly OrderColumn[]): boolean {
  const [first, ...others] = by
  if (table.rows <= 1 || first === undefined) return true
  if (isPrefix(by, table.order)) return true
  const facts = work.facts.of(table.columns[first.column]!)
  return facts.ascending && !first.descending && (others.length === 0 || facts.unique)
}

/**
 * The order in which rows that are equal in all columns of a table are known to be neighbours, as they lie: its first columns are these. Asks the device nothing.
 * @returns undefined where they may lie anywhere
 */
export function neighbourOrder(work: DeviceWork, table: Table): RowsOrder | undefined {
  const all = [...table.columns.keys()]
  const ofFacts = all.find((column) => {
    const { ascending, unique } = work.facts.of(table.columns[column]!)
    return ascending && (unique || all.length === 1)
  })
  if (ofFacts !== undefined) {
    return { by: [ascending(ofFacts)], unique: work.facts.of(table.columns[ofFacts]!).unique }
  }
  const { order } = table
  if (order === undefined) return undefined
  if (order.unique) return order
  const first = order.by.slice(0, all.length)
  const isSame = all.every((column) => first.some((by) => by.column === column))
  return isSame ? { by: first, unique: false } : undefined
}

/**
 * What is left of an order among other columns.
 * @param places the new numbers of columns that are there still
 */
export function orderAmong(
  { by, unique }: RowsOrder,
  places: ReadonlyMap<unknown, number>,
): RowsOrder | undefined {
  const left: OrderColumn[] = []
  for (const key of by) {
    const column = places.get(key.column)
    if (column === undefined) break
    left.push({ ...key, column })
  }
  return left.length === 0 ? undefined : { by: left, unique: unique && left.length === by.length }
}

/** Whether rows in an order are ordered by columns, too. Behind columns by which no two rows are equal any others may come. */
function isPrefix(wanted: readonly OrderColumn[], order: RowsOrder | undefined): boolean {
  if (order === undefined) return false
  return wanted.every(({ column, descending, nullsFirst }, i) => {
    const by = order.by[i]
    if (by === undefined) return order.unique
    return by.column === column && by.descending === descending && by.nullsFirst === nullsFirst
  })
}
