import { getOrInsert } from '../../../protocol/get-or-insert.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { DeviceRelation } from '../device-relation.js'
import { orderAmong, type RowsOrder } from '../order/sortedness.js'
import type { DeviceWork } from './device-work.js'
import type { RowNumbers } from './fetch.js'
import type { QueryColumn } from './query-column.js'

/** A column of a table: that of something else, at given rows, or at all of them in their order. */
export interface TableColumn {
  readonly source: QueryColumn
  readonly rows: RowNumbers | undefined
}

/**
 * Rows between two steps of a query. Most steps only choose rows, so a table is columns of relations and the numbers of the rows that
 * are left; columns that come from one side share these. Values move when they are asked for (late materialisation).
 */
export class Table {
  readonly rows: number
  readonly columns: readonly TableColumn[]
  /** The order that rows are known to be in, beside that of columns of relations (`KnownFacts`). */
  readonly order: RowsOrder | undefined
  readonly #dense = new Map<TableColumn, QueryColumn>()

  constructor(rows: number, columns: readonly TableColumn[], order?: RowsOrder) {
    this.rows = rows
    this.columns = columns
    this.order = order
  }

  /** All columns of a relation, with the rows that were deleted. */
  static ofRelation({ rows, columns }: Pick<DeviceRelation, 'rows' | 'columns'>): Table {
    return Table.ofColumns(rows, [...columns.values()])
  }

  /** The same without these. */
  static ofLiveRows(work: DeviceWork, relation: DeviceRelation): Table {
    const { rows, live } = relation
    const all = Table.ofRelation(relation)
    return live === undefined ? all : all.pick(work, work.kernels.liveRows.list(work, live, rows), live.count)
  }

  static ofColumns(rows: number, columns: readonly QueryColumn[]): Table {
    return new Table(
      rows,
      columns.map((source) => ({ source, rows: undefined })),
    )
  }

  /** A column with a value for each row of the table, in their order. */
  dense(work: DeviceWork, index: number): QueryColumn {
    const column = this.columns[index]!
    const { source, rows } = column
    if (rows === undefined) return source
    return getOrInsert(this.#dense, column, () => work.kernels.fetch.values(work, source, rows, this.rows))
  }

  /** The rows with these numbers, which may repeat, be in any order, or be `NO_ROW`. */
  pick(work: DeviceWork, numbers: RowNumbers, count: number): Table {
    const composed = new Map<RowNumbers, RowNumbers>()
    const compose = (rows: RowNumbers) => work.kernels.fetch.compose(work, rows, numbers, count)
    const columns = this.columns.map(({ source, rows }) => {
      return { source, rows: rows === undefined ? numbers : getOrInsert(composed, rows, compose) }
    })
    return new Table(count, columns, numbers.ascending ? this.order : undefined)
  }

  /** Neighbouring rows. */
  slice(work: DeviceWork, first: number, count: number): Table {
    if (first === 0 && count >= this.rows) return this
    const buffer = work.words(count)
    work.kernels.primitives.iota(work.recorder, buffer, count, first)
    return this.pick(work, { buffer, outer: false, ascending: true }, count)
  }

  /** The columns with these numbers, and others with a value for each row. */
  choose(parts: readonly (number | QueryColumn)[]): Table {
    const columns = parts.map((part) =>
      typeof part === 'number' ? this.columns[part]! : { source: part, rows: undefined },
    )
    const places = new Map(parts.map((part, place) => [part, place]))
    return new Table(this.rows, columns, this.order && orderAmong(this.order, places))
  }

  /** The same rows, of which more is known. */
  ordered(order: RowsOrder | undefined): Table {
    return new Table(this.rows, this.columns, order)
  }

  /** Every buffer that the table needs. */
  *buffers(): Generator<DeviceMemory> {
    for (const { source, rows } of this.columns) {
      yield* columnBuffers(source)
      if (rows !== undefined) yield rows.buffer
    }
    for (const column of this.#dense.values()) yield* columnBuffers(column)
  }
}

function* columnBuffers({ values, validity }: QueryColumn): Generator<DeviceMemory> {
  yield values
  if (validity !== undefined) yield validity
}
