import type { ScanResult } from '../../gpu/index-structure.js'
import { asBytes } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import type { Section, Sections, SectionType } from '../../protocol/frame.js'
import { keySectionType, requireKeys } from '../../protocol/key-sections.js'
import type { LoadCounts } from '../../protocol/load.js'
import type {
  ExplainRequest,
  LoadRequest,
  Request,
  SnapshotRequest,
  StatsRequest,
} from '../../protocol/messages.js'
import type { ReplyFields, SnapshotInfo } from '../../protocol/replies.js'
import { explainColumns, getNextColumns, scanColumns, writeColumns } from '../../protocol/request-columns.js'
import type { IndexDefinition } from '../../protocol/types.js'
import type { Engine } from '../engine/engine.js'
import type { EngineStats } from '../engine/engine-stats.js'
import type { Index } from '../engine/named-index.js'
import type { PayloadColumns } from '../engine/payload-reader.js'
import type { Rights } from './access/rights.js'
import { visibleStats } from './access/visible-stats.js'
import { type Asker, type Reply, reply, writeIdOf } from './asker.js'
import { runQuery } from './query-operations.js'
import { runRelationRequest } from './relation-operations.js'

/** The requests that concern the engine; the others concern the connection only. */
export type EngineRequest = Exclude<Request, { op: 'hello' | 'cancel' }>

/** The requests for the columns of one index. */
type IndexRequest = Extract<
  EngineRequest,
  { op: 'get' | 'count' | 'scan' | 'getNext' | 'insert' | 'delete' | 'write' }
>

/** Hands a request, which its asker may make, to the engine before it returns, so that requests run in the order of these calls. */
export async function runRequest(engine: Engine, request: EngineRequest, asker: Asker): Promise<Reply> {
  switch (request.op) {
    case 'createIndex': {
      const { id: _id, op: _op, index: name, ifNotExists, ...fields } = request
      const definition = { name, ...fields }
      return reply<'createIndex'>({
        definition,
        created: await engine.createIndex(definition, { ifNotExists }),
      })
    }
    case 'dropIndex': {
      const { index, ifExists } = request
      return reply<'dropIndex'>({ dropped: await engine.dropIndex(index, { ifExists }) })
    }
    case 'listIndexes':
      return reply<'listIndexes'>({
        indexes: engine.list().filter(({ name }) => asker.rights.may('stats', name)),
      })
    case 'stats':
      return reply<'stats'>(visibleStats(statsOf(engine, request), asker.rights))
    case 'snapshot':
      return reply<'snapshot'>({ snapshots: await snapshot(engine, request, asker.rights) })
    case 'createRelation':
    case 'dropRelation':
    case 'createRelationIndex':
    case 'listRelations':
    case 'append':
    case 'readRelation':
      return runRelationRequest(engine, request, asker)
    case 'backup':
      return reply<'backup'>(await engine.backUp(request.name))
    case 'calibrate':
      return reply<'calibrate'>(await engine.calibration(request.again))
    case 'load':
      return reply<'load'>(await load(engine.index(request.index, request.generation), request, asker))
    case 'explain':
      return reply<'explain'>(await explain(engine.index(request.index, request.generation), request, asker))
    case 'query':
    case 'queryNext':
    case 'queryEnd':
      return runQuery(engine.queries, request, asker)
    default:
      return {
        fields: {},
        sections: await runOnIndex(engine.index(request.index, request.generation), request, asker),
      }
  }
}

/** Figures of one index or relation, or of all. */
function statsOf(engine: Engine, { index, relation }: StatsRequest): EngineStats {
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
  { index, relation }: SnapshotRequest,
  rights: Rights,
): Promise<readonly SnapshotInfo[]> {
  if (relation !== undefined) return [await engine.relation(relation).snapshot()]
  if (index !== undefined) return engine.snapshot(index)
  return engine.snapshots((name) => rights.may('snapshot', name))
}

async function explain(
  index: Index,
  request: ExplainRequest,
  { cancellation }: Asker,
): Promise<ReplyFields['explain']> {
  const { bytes, offsets } = explainColumns(request, index.definition)
  return { explanation: await index.explain(bytes, offsets, request.traversal, cancellation) }
}

function load(index: Index, request: LoadRequest, asker: Asker): Promise<LoadCounts> {
  const { writeId, after } = request
  if (after !== undefined && writeId === undefined) {
    throw new WarpdexError('BAD_REQUEST', 'load takes an "after" only beside a "writeId"')
  }
  const columns = writeColumns(request, index.definition)
  return index.load(columns, { after }, writeIdOf(writeId, asker), asker.cancellation)
}

async function runOnIndex(index: Index, request: IndexRequest, asker: Asker): Promise<Sections> {
  const { definition } = index
  const { cancellation } = asker
  switch (request.op) {
    case 'get': {
      const { bytes: keys, offsets: keyOffsets } = requireKeys(request, definition)
      if (!request.all) {
        const { found, ...payloads } = await index.get(keys, keyOffsets, request.traversal, cancellation)
        return { found: column('u8', found), ...payloadSections(payloads) }
      }
      const { offsets, ...payloads } = await index.getAll(keys, keyOffsets, cancellation)
      return { offsets: column('u32', offsets), ...payloadSections(payloads) }
    }
    case 'count': {
      const { bytes, offsets } = requireKeys(request, definition)
      return { counts: column('u32', await index.count(bytes, offsets, cancellation)) }
    }
    case 'scan': {
      const { limit, reverse, fromExclusive, toExclusive } = request
      const ranges = scanColumns(request, definition)
      const scan = { ...ranges, limit, reverse, fromExclusive, toExclusive }
      const { offsets, more, tokens, tokenOffsets, ...entries } = await index.scan(scan, cancellation)
      return {
        offsets: column('u32', offsets),
        ...keySections(entries, definition),
        ...payloadSections(entries),
        more: column('u8', more),
        tokens: column('bytes', tokens),
        ...(tokenOffsets && { tokenOffsets: column('u32', tokenOffsets) }),
      }
    }
    case 'getNext': {
      const { reverse, traversal } = request
      const columns = getNextColumns(request, definition)
      const next = await index.getNext({ ...columns, reverse, traversal }, cancellation)
      return {
        found: column('u8', next.found),
        ...keySections(next, definition),
        ...payloadSections(next),
        sequences: column('u32', next.sequences),
      }
    }
    default: {
      const { writeId, traversal } = request
      const write = { ...writeColumns(request, definition), traversal }
      return { codes: column('u8', await index.write(write, writeIdOf(writeId, asker), cancellation)) }
    }
  }
}

function keySections(
  { keys, keyOffsets }: Pick<ScanResult, 'keys' | 'keyOffsets'>,
  { keyType }: IndexDefinition,
): Sections {
  const section = { keys: column(keySectionType(keyType), keys) }
  return keyOffsets === undefined ? section : { keyOffsets: column('u32', keyOffsets), ...section }
}

function payloadSections({ payloads, payloadOffsets }: PayloadColumns): Sections {
  const section = { payloads: column('bytes', payloads) }
  return payloadOffsets === undefined
    ? section
    : { payloadOffsets: column('u32', payloadOffsets), ...section }
}

function column(type: SectionType, values: ArrayBufferView): Section {
  return { type, bytes: asBytes(values) }
}
