import { WarpdexError } from '../../../protocol/errors.js'
import type { ControlRequest, Request } from '../../../protocol/messages.js'
import { batchFromSections, sectionsOfBatch } from '../../../protocol/relation-sections.js'
import type { Engine } from '../../engine/engine.js'
import type { Rights } from '../access/rights.js'
import { visibleRelations } from '../access/visible-stats.js'
import type { Result } from '../backend.js'
import { fields, type RequestContext, writeIdOf } from './context.js'

/** The requests that concern relations only. */
export type RelationRequest = Extract<
  Request,
  {
    op:
      | 'createRelation'
      | 'dropRelation'
      | 'createRelationIndex'
      | 'listRelations'
      | 'append'
      | 'readRelation'
  }
>

/** Hands a request to the engine before it returns. */
export async function handleRelation(
  engine: Engine,
  request: RelationRequest,
  context: RequestContext,
): Promise<Result> {
  switch (request.op) {
    case 'createRelation': {
      const { relation: name, columns, ifNotExists } = request
      const definition = { name, columns }
      const created = await engine.createRelation(definition, { ifNotExists })
      return fields<'createRelation'>({ definition, created })
    }
    case 'dropRelation': {
      const { relation, ifExists } = request
      const authorise = (index: string) => authoriseDrop(index, context.grant.rights)
      return fields<'dropRelation'>({ dropped: await engine.dropRelation(relation, { ifExists, authorise }) })
    }
    case 'createRelationIndex': {
      const { id: _id, op: _op, index, ifNotExists, ...over } = request
      const created = await engine.createRelationIndex({ name: index, ...over }, { ifNotExists })
      return fields<'createRelationIndex'>({ ...created })
    }
    case 'listRelations':
      return fields<'listRelations'>({
        relations: visibleRelations(engine.relations(), context.grant.rights),
      })
    case 'append':
      return append(engine, request, context)
    case 'readRelation':
      return read(engine, request, context)
  }
}

/** Of an index that the asker may not see the refusal tells no more than that there is one. */
function authoriseDrop(index: string, rights: Rights): void {
  if (rights.may('drop', index)) return
  const which = rights.may('stats', index) ? JSON.stringify(index) : 'one that it may not see'
  throw new WarpdexError(
    'UNAUTHORISED',
    `dropRelation needs the right "drop" on each index over the relation's columns, too; the client's token lacks it on ${which}`,
  )
}

async function append(
  engine: Engine,
  request: ControlRequest<'append'>,
  context: RequestContext,
): Promise<Result> {
  const relation = engine.relation(request.relation)
  const batch = batchFromSections(request.columns, request.rows, relation.definition)
  const id = writeIdOf(request.writeId, context)
  return fields<'append'>(await relation.append(batch, id, context.call))
}

async function read(
  engine: Engine,
  request: ControlRequest<'readRelation'>,
  context: RequestContext,
): Promise<Result> {
  const relation = engine.readableRelation(request.relation)
  const { columns, batch, total } = await relation.read(request, context.call)
  return {
    ...fields<'readRelation'>({ columns, rows: batch.rows, total }),
    sections: sectionsOfBatch(batch, columns),
  }
}
