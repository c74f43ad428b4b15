import { badRequest, WarpdexError } from '../../../protocol/errors.js'
import type { ControlRequest } from '../../../protocol/messages.js'
import { encodeBatch } from '../../../protocol/query/batch-section.js'
import { packedWith } from '../../../protocol/query/pack-query.js'
import type { Right } from '../../../protocol/rights.js'
import type { Engine } from '../../engine/engine.js'
import type { Keeper } from '../../engine/kept-results.js'
import type { QueryReader } from '../../query/query-host.js'
import { type ControlHandlers, type RequestContext, writeIdOf } from './context.js'
import { requireSpread } from './spread.js'

/** Begins, goes on with, ends or keeps the result of a query, or changes the rows that one finds. */
export const QUERY_HANDLERS: ControlHandlers<'query' | 'queryNext' | 'queryEnd' | 'changeRows'> = {
  query: async (engine, request, context) => {
    const { queries } = engine
    const { keep, tables, spread } = request
    const reader = readerOf(context, (relation) =>
      requireSpread(engine.readableRelation(relation).definition, spread.get(relation)),
    )
    const { query, lists, explain } = await plannedOf(engine, request, context)
    if (request.plan) {
      const { fields, sections } = packedWith(query, lists)
      return { fields: { plan: { ...fields, explain } }, sections }
    }
    const inputs = { lists, tables }
    if (explain) return { fields: { explanation: await queries.explain(query, reader, inputs) } }
    if (keep !== undefined) return { fields: { kept: await queries.keep(query, keep, reader, inputs) } }
    const { batch: rows, cursor } = await queries.start(query, reader, inputs)
    const { batch, data } = encodeBatch(rows)
    return { fields: { batch, cursor }, sections: { data: { type: 'bytes', bytes: data } } }
  },
  queryNext: async ({ queries }, { cursor }, context) => {
    const { batch: rows, more } = await queries.next(cursor, readerOf(context))
    const { batch, data } = encodeBatch(rows)
    return { fields: { batch, more }, sections: { data: { type: 'bytes', bytes: data } } }
  },
  queryEnd: async ({ queries }, { cursor }, context) => {
    queries.end(cursor, readerOf(context))
    return { fields: {} }
  },
  changeRows: async (engine, { relation, writeId, spread, ...change }, context) => {
    requireSpread(engine.relation(relation).definition, spread)
    const id = writeIdOf(writeId, context)
    const { deleted, appended } = await engine.changeRows(relation, change, readerOf(context), id)
    return { fields: { changed: deleted, ...(appended && { first: appended.first }) } }
  },
}

/** A query as it came, or as its statement is planned. */
async function plannedOf(
  engine: Engine,
  request: ControlRequest<'query'>,
  { grant: { rights } }: RequestContext,
): Promise<Pick<ControlRequest<'query'>, 'query' | 'lists' | 'explain'>> {
  const { sql, query, explain, tables } = request
  if (sql === undefined) return request
  if (query !== undefined) throw badRequest('query takes a tree or "sql", not both')
  const planned = await engine.planSql(sql, (relation) => rights.may('read', relation), tables)
  return { ...planned, explain: explain || planned.explain }
}

/**
 * A query names its relations itself, so that the right to read them is asked for as each is come across; that to replace a result when there is one.
 * @param check of a relation that it names and may read
 */
function readerOf(
  { call, grant }: RequestContext,
  check: (relation: string) => void = () => {},
): QueryReader & Keeper {
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
    turnCame: () => call.turnCame(),
    owner: call.owner,
    authorise: (relation) => {
      require('read', relation, 'query')
      check(relation)
    },
    maySee: (index) => grant.rights.may('stats', index),
    authoriseReplace: (name) => require('drop', name, 'a query that replaces a kept result'),
  }
}
