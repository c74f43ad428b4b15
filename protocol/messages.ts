import { readAppend, readJoint, readParts } from './batch.js'
import { decodeDataRequest } from './data-frame.js'
import type { DataRequest } from './data-request.js'
import { badRequest } from './errors.js'
import { decodeFrame, type Frame, frameError, isControlFrame } from './frame.js'
import { isMap } from './is-map.js'
import { parseLayout } from './layout-options.js'
import { LIMITS } from './limits.js'
import { parsePlacement } from './placement.js'
import { readLists } from './query/constant-lists.js'
import { type Keep, parseKeep } from './query/keep.js'
import { readTables } from './query/query-tables.js'
import { parseColumns } from './relation.js'
import { columnNames } from './relation-sections.js'
import { RequestReader } from './request-reader.js'
import { parseSpread, type Spread } from './spread.js'
import { parseSql } from './sql.js'
import type { TreeLayout } from './traversal.js'
import { parseKeyType, parsePayloadKind } from './types.js'

const MOST_TTL_SECONDS = 2 ** 32 - 1

/** What each operation that travels as msgpack has in its header, beside `id` and `op`, and how it is read. */
const PARSERS = {
  hello: (r) => ({
    protocol: r.whole('protocol'),
    // The same over all connections of a client: write ids are its own.
    client: r.clientName('client'),
  }),
  createIndex: (r) => ({
    index: r.indexName('index'),
    keyType: parseKeyType(r.text('keyType')),
    payloadKind: parsePayloadKind(r.text('payloadKind')),
    unique: r.flag('unique'),
    // Seconds; with 0 only those entries expire whose writes say so.
    ttl: r.optionalWhole('ttl', 0, MOST_TTL_SECONDS),
    // Over which replica sets of a cluster it is spread.
    placement: parsePlacement(r.value('placement')),
    ifNotExists: r.flag('ifNotExists'),
    ...layout(r),
  }),
  // For the handle by which requests for data name the index.
  open: (r) => ({ index: r.indexName('index') }),
  dropIndex: (r) => ({ index: r.indexName('index'), ifExists: r.flag('ifExists') }),
  // To a name that no index has.
  renameIndex: (r) => ({ index: r.indexName('index'), to: r.indexName('to') }),
  // Each of two gets the name of the other.
  swapIndexes: (r) => ({ index: r.indexName('index'), with: r.indexName('with') }),
  listIndexes: () => ({}),
  createRelation: (r) => ({
    relation: r.indexName('relation'),
    columns: parseColumns(r.value('columns')),
    // Over the replica sets of a cluster.
    spread: parseSpread(r.value('spread')),
    ifNotExists: r.flag('ifNotExists'),
  }),
  dropRelation: (r) => ({ relation: r.indexName('relation'), ifExists: r.flag('ifExists') }),
  // An index over columns of a relation.
  createRelationIndex: (r) => ({
    relation: r.indexName('relation'),
    index: r.indexName('index'),
    columns: columnNames(r),
    spread: parseSpread(r.value('spread')),
    ifNotExists: r.flag('ifNotExists'),
    ...layout(r),
  }),
  listRelations: () => ({}),
  append: readAppend,
  // Deletes the rows that satisfy a condition; with `set` others stand in their place. Both are checked when they are carried out.
  changeRows: (r) => ({
    relation: r.indexName('relation'),
    where: r.value('where'),
    set: r.value('set'),
    lists: readLists(r),
    spread: parseSpread(r.value('spread')),
    writeId: r.optionalWhole('writeId'),
  }),
  // Several writes and the conditions on which they are made, all or none.
  batch: (r) => ({
    writeId: r.optionalWhole('writeId'),
    joint: readJoint(r.value('joint')),
    parts: readParts(r),
  }),
  readRelation: (r) => ({
    relation: r.indexName('relation'),
    // All where none are named.
    columns: columnNames(r),
    // Number of the first row.
    from: r.optionalWhole('from') ?? 0,
    // Rows at most; a reply may have fewer, since it has a limit.
    limit: r.whole('limit', 0, LIMITS.batchItems),
    // Of the relation when the number of the first row was known.
    numbering: r.optionalWhole('numbering'),
    spread: parseSpread(r.value('spread')),
  }),
  // Later requests of the same client may read what there is at this moment, by the number that it gives it.
  openVersion: (r) => ({
    version: r.whole('version'),
    // After its last use.
    seconds: r.optionalWhole('seconds', 1, LIMITS.versionSecondsMost) ?? LIMITS.versionSeconds,
  }),
  closeVersion: (r) => ({ version: r.whole('version') }),
  stats: target,
  snapshot: target,
  // The name is that of the folder to make among the server's backups; by default it tells the time.
  backup: (r): { name?: string | undefined } => ({ name: r.optionalText('name') }),
  // Those that the server keeps, behind the one of that number.
  slowRequests: (r) => ({ after: r.optionalWhole('after') ?? 0 }),
  // Which nodes the server's cluster has.
  cluster: () => ({}),
  // What the server has of the log of its replica set, once that is as much as is asked for, or some time has passed.
  position: (r) => ({ atLeast: r.optionalWhole('atLeast') }),
  // The owner of a replica set leaves it to the node at an address; without one, the server leaves what it owns to any.
  handOver: (r) => ({ to: r.optionalText('to') }),
  // With `again` costs are measured anew, which takes seconds.
  calibrate: (r) => ({ again: r.flag('again') }),
  // The tree is checked when it is carried out: it depends on the relations. Lists are its constants that came as columns. Instead of a tree a statement in SQL.
  query: (r) => ({
    query: r.value('query'),
    lists: readLists(r),
    // Rows that it scans by names of theirs.
    tables: readTables(r),
    sql: parseSql(r.value('sql')),
    // Of the relations that are spread over the replica sets of a cluster, of which it reads what is on this one.
    spread: parseSpreads(r.value('spread')),
    // Whether a statement is answered with its tree.
    plan: r.flag('plan'),
    ...resultOf(r),
  }),
  queryNext: (r) => ({ cursor: r.whole('cursor') }),
  // The rest of a result is not wanted.
  queryEnd: (r) => ({ cursor: r.whole('cursor') }),
  cancel: (r) => ({ target: r.whole('target') }),
} as const satisfies Readonly<Record<string, (r: RequestReader) => object>>

export type ControlOp = keyof typeof PARSERS

/** A request that travels as msgpack: all but requests for data. */
export type ControlRequest<O extends ControlOp = ControlOp> = {
  [Op in O]: { readonly id: number; readonly op: Op } & Readonly<ReturnType<(typeof PARSERS)[Op]>>
}[O]

export type Request = ControlRequest | DataRequest
export type Op = Request['op']

/** Whether a query is answered with what its steps did, or its result is to stay on the device, instead of with its rows. */
function resultOf(r: RequestReader): { explain: boolean; keep: Keep | undefined } {
  const wanted = { explain: r.flag('explain'), keep: parseKeep(r.value('keep')) }
  if (!wanted.explain || wanted.keep === undefined) return wanted
  throw badRequest('query takes "explain" or "keep", not both')
}

/** By names of relations. */
function parseSpreads(value: unknown): ReadonlyMap<string, Spread | undefined> {
  if (value !== undefined && !isMap(value))
    throw badRequest('"spread" of a query is a map by names of relations')
  return new Map(Object.entries(value ?? {}).map(([name, spread]) => [name, parseSpread(spread)]))
}

/** An index, or a relation, or neither. */
function target(r: RequestReader): { index?: string | undefined; relation?: string | undefined } {
  const named = { index: r.optionalIndexName('index'), relation: r.optionalIndexName('relation') }
  if (named.index === undefined || named.relation === undefined) return named
  throw badRequest('a request names an index or a relation, not both')
}

function layout(r: RequestReader): TreeLayout {
  return parseLayout({
    structure: r.value('structure'),
    layout: r.value('layout'),
    allocation: r.value('allocation'),
    partitionLevels: r.value('partitionLevels'),
    linked: r.value('linked'),
  })
}

/** Names of all operations that travel as msgpack. */
export const CONTROL_OPS = Object.keys(PARSERS) as readonly ControlOp[]

function isOp(value: unknown): value is ControlOp {
  return typeof value === 'string' && Object.hasOwn(PARSERS, value)
}

/**
 * Reads a control request: its fields' types and ranges, and that it has the sections it needs and no others.
 *
 * @throws WarpdexError `BAD_REQUEST` that names what is allowed
 */
export function parseControlRequest(frame: Frame): ControlRequest {
  const { id, header } = frame
  if (id === null) throw badRequest('a request needs an id, a whole number from 0 to 2^53 - 1')
  const op = isOp(header.op) ? header.op : undefined
  if (op === undefined) {
    throw badRequest(`unknown or missing op; use one of ${CONTROL_OPS.join(', ')}`)
  }
  const reader = new RequestReader(op, frame)
  const body = PARSERS[op](reader)
  reader.finish()
  return { id, op, ...body } as ControlRequest
}

/** Reads a request, for data or of control. @throws FrameError */
export function readRequest(bytes: Uint8Array): Request {
  if (!isControlFrame(bytes)) return decodeDataRequest(bytes)
  const frame = decodeFrame(bytes)
  try {
    return parseControlRequest(frame)
  } catch (error) {
    throw frameError(error, frame.id)
  }
}
