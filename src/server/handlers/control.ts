import type { DataRequest } from '../../../protocol/data-request.js'
import type { ControlRequest } from '../../../protocol/messages.js'
import type { SnapshotInfo } from '../../../protocol/replies.js'
import type { Engine } from '../../engine/engine.js'
import type { EngineStats } from '../../engine/engine-stats.js'
import { authorise, type Rights } from '../access/rights.js'
import { visibleStats } from '../access/visible-stats.js'
import type { Result } from '../backend.js'
import { type EngineRequest, fields, type RequestContext } from './context.js'
import { handleQuery } from './queries.js'
import { handleRelation } from './relations.js'

/**
 * Carries out a request that is none for an index's data, if whoever asks may make it. The engine has it before this returns, so that requests take effect in the order of
 * these calls.
 */
export async function handleControl(
  engine: Engine,
  request: Exclude<EngineRequest, DataRequest>,
  context: RequestContext,
): Promise<Result> {
  const { grant } = context
  const { rights } = grant
  authorise(grant, request)
  switch (request.op) {
    case 'open': {
      const index = engine.index(request.index)
      if (!index.exists) await index.ready()
      return fields<'open'>({ ...index.definition, ...index.handle })
    }
    case 'createIndex': {
      const { id: _id, op: _op, index: name, ifNotExists, ...layout } = request
      const definition = { name, ...layout }
      const created = await engine.createIndex(definition, { ifNotExists })
      return fields<'createIndex'>({ definition, created })
    }
    case 'dropIndex': {
      const { index, ifExists } = request
      return fields<'dropIndex'>({ dropped: await engine.dropIndex(index, { ifExists }) })
    }
    case 'listIndexes':
      return fields<'listIndexes'>({
        indexes: engine.list().filter(({ name }) => rights.may('stats', name)),
      })
    case 'stats':
      return fields<'stats'>(visibleStats(statsOf(engine, request), rights))
    case 'snapshot':
      return fields<'snapshot'>({ snapshots: await snapshot(engine, request, rights) })
    case 'createRelation':
    case 'dropRelation':
    case 'createRelationIndex':
    case 'listRelations':
    case 'append':
    case 'readRelation':
      return handleRelation(engine, request, context)
    case 'backup':
      return fields<'backup'>(await engine.backUp(request.name))
    case 'calibrate':
      return fields<'calibrate'>(await engine.calibration(request.again))
    case 'query':
    case 'queryNext':
    case 'queryEnd':
      return handleQuery(engine.queries, request, context)
  }
}

/** Figures of one index or relation, or of all. */
function statsOf(engine: Engine, { index, relation }: ControlRequest<'stats'>): EngineStats {
  if (relation === undefined) return engine.stats(index)
  return {
    server: engine.stats().server,
    indexes: [],
    relations: [engine.readableRelation(relation).stats()],
  }
}

/** Of one index or relation, or of all that the asker may have snapshots taken of. */
async function snapshot(
  engine: Engine,
  { index, relation }: ControlRequest<'snapshot'>,
  rights: Rights,
): Promise<readonly SnapshotInfo[]> {
  if (relation !== undefined) return [await engine.relation(relation).snapshot()]
  if (index !== undefined) return engine.snapshot(index)
  return engine.snapshots((name) => rights.may('snapshot', name))
}
