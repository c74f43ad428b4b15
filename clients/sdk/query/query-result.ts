import { badRequest, WarpdexError } from '../../../protocol/errors.js'
import type { Sections } from '../../../protocol/frame.js'
import { decodeBatch, type PlacedBatch } from '../../../protocol/query/batch-section.js'
import type { KeptRelation } from '../../../protocol/query/keep.js'
import { type CallOptions, checkName, checkOptions, NUMBER, UNBOUNDED } from '../call-options.js'
import type { Connection } from '../connection.js'
import type { Reply } from '../reply.js'
import { type Cell, QueryBatch } from './query-batch.js'

/** What is asked, as it travels. */
export interface Question {
  readonly fields: object
  readonly sections?: Sections
}

/**
 * A query's result: `for await` goes through its batches, each of which is asked for when the one before was taken, so that whoever reads slowly
 * holds up the query and not the memory. Every loop carries the query out anew; one that is left early ends it. The server gives a result up
 * that is not read on for half a minute. The deadline is that of each batch.
 */
export class QueryResult implements AsyncIterable<QueryBatch> {
  readonly #connection: Connection
  readonly #question: () => Question | Promise<Question>
  readonly #options: CallOptions
  readonly #onKept: (name: string) => void

  /**
   * @param question called for each time that it is asked
   * @param onKept told of names that mean something else from now on
   */
  constructor(
    connection: Connection,
    question: () => Question | Promise<Question>,
    options: CallOptions,
    onKept: (name: string) => void = () => {},
  ) {
    this.#connection = connection
    this.#question = question
    this.#options = options
    this.#onKept = onKept
  }

  [Symbol.asyncIterator](): AsyncGenerator<QueryBatch, void, undefined> {
    return this.#batches(false)
  }

  /** @param isOneCall whether the batches after the first belong to a call that is under way */
  async *#batches(isOneCall: boolean): AsyncGenerator<QueryBatch, void, undefined> {
    const first = await this.#ask({})
    const { cursor, batch, explanation } = first.fields
    if (explanation !== undefined) throw badRequest('explainSql, not sql, gives what an EXPLAIN does')
    let more = cursor !== undefined
    try {
      if (batch !== undefined) yield batchOf(batch, first)
      while (more) {
        const bounds = this.#connection.bounds(this.#options, isOneCall)
        const next = await this.#connection.request('queryNext', { cursor }, {}, bounds)
        more = next.fields.more
        yield batchOf(next.fields.batch, next)
      }
    } finally {
      // Whether it comes to pass is the server's business: it gives up what is not read.
      if (more) this.#connection.request('queryEnd', { cursor }, {}, UNBOUNDED).catch(() => {})
    }
  }

  /** All rows as objects. */
  async rows(): Promise<Record<string, Cell>[]> {
    const rows: Record<string, Cell>[] = []
    for await (const batch of this.#batches(true)) rows.push(...batch.rows())
    return rows
  }

  /** All rows as columns of plain values, by name. */
  async columns(): Promise<Record<string, Cell[]>> {
    const columns = new Map<string, Cell[]>()
    for await (const batch of this.#batches(true)) {
      for (const column of batch.columns) {
        const cells = columns.get(column.name) ?? []
        columns.set(column.name, cells)
        for (let row = 0; row < batch.length; row++) cells.push(column.at(row))
      }
    }
    return Object.fromEntries(columns)
  }

  /**
   * Carries the query out, and keeps its rows on the server's device as a relation that is not stored: other queries may name it, and
   * `Client.relation` reads it. It is there until nobody has used it for some time, it is dropped, or the server stops or loses its device.
   * It takes the place of a former result of its name.
   *
   * @param options `seconds` for which it stays after its last use; ten minutes by default
   * @throws WarpdexError also `RELATION_EXISTS` where a stored relation has the name, `OUT_OF_DEVICE_MEMORY`, `TOO_LARGE`
   */
  async keep(name: string, options: { readonly seconds?: number | undefined } = {}): Promise<KeptRelation> {
    checkName(name, 'keep', 'a relation')
    checkOptions(options, { seconds: NUMBER }, 'keep')
    const { seconds } = options
    const { fields } = await this.#ask({ keep: { name, seconds } })
    this.#onKept(name)
    if (fields.kept === undefined) throw new WarpdexError('INTERNAL', 'the server did not keep the result')
    return fields.kept
  }

  #ask(fields: object) {
    const send = ({ fields: asked, sections = {} }: Question) => {
      const bounds = this.#connection.bounds(this.#options)
      return this.#connection.request('query', { ...asked, ...fields }, sections, bounds)
    }
    // At once where it can be, so that requests leave in the order of their calls.
    const question = this.#question()
    return question instanceof Promise ? question.then(send) : send(question)
  }
}

function batchOf(batch: PlacedBatch, { sections }: Reply<'query' | 'queryNext'>): QueryBatch {
  const data = sections.get('data')
  if (data !== undefined) return new QueryBatch(decodeBatch(batch, data.bytes))
  throw new WarpdexError('INTERNAL', "the server's reply to a query has no rows")
}
