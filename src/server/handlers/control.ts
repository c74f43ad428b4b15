import type { DataRequest } from '../../../protocol/data-request.js'
import { badRequest, WarpdexError } from '../../../protocol/errors.js'
import type { ControlRequest } from '../../../protocol/messages.js'
import { batchFromSections, sectionsOfBatch } from '../../../protocol/relation-sections.js'
import type { SnapshotInfo } from '../../../protocol/replies.js'
import type { JointSteps } from '../../engine/atomic-batch.js'
import type { Engine } from '../../engine/engine.js'
import type { EngineStats } from '../../engine/engine-stats.js'
import { authorise, type Rights } from '../access/rights.js'
import { visibleRelations, visibleStats } from '../access/visible-stats.js'
import type { FieldsResult } from '../backend.js'
import { batchOf } from './batches.js'
import {
  type ControlHandler,
  type ControlHandlers,
  type EngineRequest,
  type RequestContext,
  versionIdOf,
  writeIdOf,
} from './context.js'
import { QUERY_HANDLERS } from './queries.js'
import { requireSpread } from './spread.js'

type EngineOp = Exclude<EngineRequest, DataRequest>['op']

const HANDLERS: ControlHandlers<EngineOp> = {
  cluster: async ({ replica }) => {
    if (replica.cluster !== undefined) return { fields: replica.cluster() }
    throw badRequest('the server is of no cluster')
  },
  position: async ({ replica }, { atLeast = 0 }, { call }) => {
    if (replica.reached === undefined) throw badRequest('the server is of no cluster')
    const fields = await replica.reached(atLeast, call)
    if (call.cancelled) throw new WarpdexError('CANCELLED', 'nobody waits for the position any more')
    return { fields }
  },
  handOver: async ({ replica }, { to }, { call }) => {
    if (replica.handOver === undefined) throw badRequest('the server is of no cluster')
    return { fields: { owner: await replica.handOver(to, call) } }
  },
  open: async (engine, { index }) => {
    const opened = await engine.openedByName(index)
    if (opened.of !== undefined && engine.relation(opened.of.relation).definition.spread === 'rows')
      throw badRequest(
        `index ${JSON.stringify(index)} is over a relation that is spread by rows, so that row numbers are not whole in it; queries use it`,
      )
    return { fields: opened }
  },
  createIndex: async (engine, { id: _id, op: _op, index: name, ifNotExists, ...layout }) => {
    const definition = { name, ...layout }
    return { fields: { definition, created: await engine.createIndex(definition, { ifNotExists }) } }
  },
  dropIndex: async (engine, { index, ifExists }) => ({
    fields: { dropped: await engine.dropIndex(index, { ifExists }) },
  }),
  renameIndex: async (engine, { index, to }) => {
    await engine.renameIndex(index, to)
    return { fields: {} }
  },
  swapIndexes: async (engine, { index, with: other }) => {
    await engine.swapIndexes(index, other)
    return { fields: {} }
  },
  listIndexes: async (engine, _request, { grant: { rights } }) => ({
    fields: { indexes: engine.list().filter(({ name }) => rights.may('stats', name)) },
  }),
  createRelation: async (engine, { relation: name, columns, spread, ifNotExists }) => {
    const { sets = 1 } = engine.replica.cluster?.() ?? {}
    if (spread !== undefined && sets < 2)
      throw badRequest('relations are spread in clusters of several replica sets')
    const definition = { name, columns, ...(spread && { spread }) }
    return { fields: { definition, created: await engine.createRelation(definition, { ifNotExists }) } }
  },
  dropRelation: async (engine, { relation, ifExists }, { grant: { rights } }) => {
    const authorise = (index: string) => authoriseDrop(index, rights)
    return { fields: { dropped: await engine.dropRelation(relation, { ifExists, authorise }) } }
  },
  createRelationIndex: async (engine, { id: _id, op: _op, index: name, ifNotExists, spread, ...over }) => {
    requireSpread(engine.relation(over.relation).definition, spread)
    return { fields: await engine.createRelationIndex({ name, ...over }, { ifNotExists }) }
  },
  listRelations: async (engine, _request, { grant: { rights } }) => ({
    fields: { relations: visibleRelations(engine.relations(), rights) },
  }),
  append: async (engine, { relation: name, columns, rows, writeId, spread }, context) => {
    const relation = engine.relation(name)
    requireSpread(relation.definition, spread)
    const batch = batchFromSections(columns, rows, relation.definition)
    return { fields: await relation.append(batch, writeIdOf(writeId, context), context.call) }
  },
  batch: async (engine, { parts, writeId, joint }, context) => {
    const batch = batchOf(engine, parts, writeId, context)
    const id = writeIdOf(writeId, context)
    const write = (steps?: JointSteps) => engine.writeBatch({ ...batch, joint: steps }, id, context.call)
    const { replica } = engine
    if (joint !== undefined && replica.joint === undefined) throw badRequest('the server is of no cluster')
    const { codes, appended } = await (joint ? replica.joint!(joint, context.call, write) : write())
    return { fields: { appended }, sections: { codes: { type: 'u8', bytes: codes } } }
  },
  readRelation: async (engine, request, { call }) => {
    const relation = engine.readableRelation(request.relation)
    requireSpread(relation.definition, request.spread)
    const { columns, batch, total, numbering, next } = await relation.read(request, call)
    const { rows } = batch
    const fields = { columns, rows, total, numbering, ...(next !== request.from + rows && { next }) }
    return { fields, sections: sectionsOfBatch(batch, columns) }
  },
  openVersion: async (engine, { version, seconds }, context) => {
    engine.openVersion(versionIdOf(version, context), seconds)
    return { fields: {} }
  },
  closeVersion: async (engine, { version }, context) => ({
    fields: { closed: engine.versions.close(versionIdOf(version, context)) },
  }),
  stats: async (engine, request, { grant: { rights } }) => {
    if (request.index !== undefined) await engine.index(request.index).countExpiring()
    return { fields: visibleStats(statsOf(engine, request), rights) }
  },
  snapshot: async (engine, request, { grant: { rights } }) => ({
    fields: { snapshots: await snapshot(engine, request, rights) },
  }),
  backup: async (engine, { name }) => ({ fields: await engine.backUp(name) }),
  slowRequests: async (_engine, { after }, { slowLog }) => ({
    fields: { threshold: slowLog.told, requests: slowLog.after(after) },
  }),
  calibrate: async (engine, { again }) => ({ fields: await engine.calibration(again) }),
  ...QUERY_HANDLERS,
}

/**
 * Carries out a request that is none for an index's data, if whoever asks may make it. The engine has it before this returns, so that requests
 * take effect in the order of these calls.
 */
export async function handleControl(
  engine: Engine,
  request: Exclude<EngineRequest, DataRequest>,
  context: RequestContext,
): Promise<FieldsResult> {
  authorise(context.grant, request)
  // The handler of its operation takes it.
  const handler = HANDLERS[request.op] as ControlHandler<EngineOp>
  return handler(engine, request, context)
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

/** Of an index that the asker may not see the refusal tells no more than that there is one. */
function authoriseDrop(index: string, rights: Rights): void {
  if (rights.may('drop', index)) return
  const which = rights.may('stats', index) ? JSON.stringify(index) : 'one that it may not see'
  throw new WarpdexError(
    'UNAUTHORISED',
    `dropRelation needs the right "drop" on each index over the relation's columns, too; the client's token lacks it on ${which}`,
  )
}
