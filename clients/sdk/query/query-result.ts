import { decodeBatch, type PlacedBatch } from '../../../protocol/query/batch-section.js'
import type { Connection } from '../connection.js'
import type { CallOptions } from '../options.js'
import type { Query } from './query.js'
import { type Cell, QueryBatch } from './query-batch.js'

/**
 * A query's result: `for await` goes through its batches, each of which is asked for when the one before was taken, so that whoever reads slowly
 * holds up the query and not the memory. Every loop carries the query out anew; one that is left early ends it. The server gives a result up
 * that is not read on for half a minute. The deadline is that of each batch.
 */
export class QueryResult implements AsyncIterable<QueryBatch> {
  readonly #connection: Connection
  readonly #query: Query
  readonly #options: CallOptions

  constructor(connection: Connection, query: Query, options: CallOptions) {
    this.#connection = connection
    this.#query = query
    this.#options = options
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<QueryBatch, void, undefined> {
    const first = await this.#request('query', { query: this.#query.tree })
    const { cursor, batch } = first.fields
    if (batch !== undefined) yield batchOf(batch, first.section('data'))
    if (cursor === undefined) return
    let more = true
    try {
      while (more) {
        const next = await this.#request('queryNext', { cursor })
        more = next.fields.more
        yield batchOf(next.fields.batch, next.section('data'))
      }
    } finally {
      // Whether it comes to pass is the server's business: it gives up what is not read.
      if (more)
        this.#connection.request('queryEnd', { cursor }, {}, this.#connection.bounds({})).catch(() => {})
    }
  }

  /** All rows as objects. */
  async rows(): Promise<Record<string, Cell>[]> {
    const rows: Record<string, Cell>[] = []
    for await (const batch of this) rows.push(...batch.rows())
    return rows
  }

  /** All rows as columns of plain values, by name. */
  async columns(): Promise<Record<string, Cell[]>> {
    const columns: Record<string, Cell[]> = {}
    for await (const batch of this) {
      for (const column of batch.columns) {
        columns[column.name] ??= []
        const cells = columns[column.name]!
        for (let row = 0; row < batch.length; row++) cells.push(column.at(row))
      }
    }
    return columns
  }

  #request<O extends 'query' | 'queryNext'>(op: O, fields: object) {
    return this.#connection.request(op, fields, {}, this.#connection.bounds(this.#options))
  }
}

function batchOf(batch: PlacedBatch, data: Uint8Array): QueryBatch {
  return new QueryBatch(decodeBatch(batch, data))
}
