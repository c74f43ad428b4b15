import type { DeviceWork } from '../query/device-work.js'
import type { RowNumbers } from '../query/fetch.js'
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

/** Whether the rows of a table are known to be ordered by columns. */
export function isOrderedBy(work: DeviceWork, table: Table, by: readonly OrderColumn[]): boolean {
  const [first, ...others] = by
  if (table.rows <= 1 || first === undefined) return true
  if (isPrefix(by, table.order)) return true
  const { ascending, unique } = work.facts.of(table.columns[first.column]!)
  return ascending && !first.descending && (others.length === 0 || unique)
}

/**
 * The order that brings equal rows of a table side by side, where they are known to be in one.
 * @returns undefined where equal rows may lie anywhere
 */
export function neighbourOrder(work: DeviceWork, table: Table): RowsOrder | undefined {
  const { order, columns } = table
  if (order !== undefined) {
    if (order.unique) return order
    const by = order.by.slice(0, columns.length)
    if (columns.every((_, column) => by.some((key) => key.column === column))) return { by, unique: false }
  }
  const facts = columns.map((column) => work.facts.of(column))
  const column = facts.findIndex(({ ascending, unique }) => ascending && (unique || columns.length === 1))
  return column < 0 ? undefined : { by: [ascending(column)], unique: facts[column]!.unique }
}

/**
 * The columns of a table by which rows are equal in all of them: of those that are at the same rows of a relation one that has no value twice there tells what
 * the others are.
 */
export function tellingColumns({ facts }: DeviceWork, { columns }: Table): readonly number[] {
  const telling = new Map<RowNumbers | undefined, number>()
  for (const [number, { source, rows }] of columns.entries()) {
    if (!telling.has(rows) && facts.of({ source, rows: undefined }).unique) telling.set(rows, number)
  }
  return [...columns.keys()].filter((number) => (telling.get(columns[number]!.rows) ?? number) === number)
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
