import { WarpdexError } from '../../../protocol/errors.js'
import type { Request } from '../../../protocol/messages.js'
import { encodeBatch } from '../../../protocol/query/batch-section.js'
import type { ResultBatch } from '../../../protocol/query/result.js'
import type { ReplyFields } from '../../../protocol/replies.js'
import type { Right } from '../../../protocol/rights.js'
import type { Keeper } from '../../engine/kept-results.js'
import type { Queries } from '../../query/queries.js'
import type { QueryReader } from '../../query/query-host.js'
import type { Result } from '../backend.js'
import type { RequestContext } from './context.js'

type QueryRequest = Extract<Request, { op: 'query' | 'queryNext' | 'queryEnd' }>

/** Begins, goes on with, ends or keeps the result of a query. */
export async function handleQuery(
  queries: Queries,
  request: QueryRequest,
  context: RequestContext,
): Promise<Result> {
  const reader = readerOf(context)
  if (request.op === 'queryEnd') {
    queries.end(request.cursor, reader)
    return { fields: {} }
  }
  if (request.op === 'queryNext') {
    const { batch, more } = await queries.next(request.cursor, reader)
    return batchReply<'queryNext'>(batch, (batch) => ({ batch, more }))
  }
  const { query, lists } = request
  if (request.explain) {
    const fields: ReplyFields['query'] = { explanation: await queries.explain(query, reader, lists) }
    return { fields }
  }
  if (request.keep !== undefined) {
    const fields: ReplyFields['query'] = { kept: await queries.keep(query, request.keep, reader, lists) }
    return { fields }
  }
  const { batch, cursor } = await queries.start(query, reader, lists)
  return batchReply<'query'>(batch, (batch) => ({ batch, cursor }))
}

/** A query names its relations itself, so that the right to read them is asked for as each is come across; that to replace a result when there is one. */
function readerOf({ call, grant }: RequestContext): QueryReader & Keeper {
  const require = (right: Right, relation: string, what: string) => {
    if (grant.rights.may(right, relation)) return
    const name = JSON.stringify(relation)
    throw new WarpdexError(
      'UNAUTHORISED',
      `${what} needs the right "${right}" on ${name}; the client's token lacks it`,
    )
  }
  return {
    get cancelled() {
      return call.cancelled
    },
    owner: call.owner,
    authorise: (relation) => require('read', relation, 'query'),
    maySee: (index) => grant.rights.may('stats', index),
    authoriseReplace: (name) => require('drop', name, 'a query that replaces a kept result'),
  }
}

function batchReply<O extends 'query' | 'queryNext'>(
  rows: ResultBatch,
  fieldsOf: (batch: ReplyFields['queryNext']['batch']) => ReplyFields[O],
): Result {
  const { batch, data } = encodeBatch(rows)
  return { fields: fieldsOf(batch), sections: { data: { type: 'bytes', bytes: data } } }
}
