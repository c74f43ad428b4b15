import { badRequest } from './errors.js'
import type { Frame } from './frame.js'
import { LIMITS } from './limits.js'
import type { ControlOp, ControlRequest, OptionalTarget, QueryRequest } from './messages.js'
import { readLists } from './query/constant-lists.js'
import { parseKeep } from './query/keep.js'
import { parseColumns } from './relation.js'
import { columnNames, columnSections } from './relation-sections.js'
import { RequestReader } from './request-reader.js'
import type { TreeLayout } from './traversal.js'
import { parseLayout } from './traversal-options.js'
import { parseKeyType, parsePayloadKind } from './types.js'

type Unnumbered<R> = R extends { readonly op: ControlOp } ? Omit<R, 'id' | 'op'> : never
type Parsers = {
  readonly [O in ControlOp]: (
    reader: RequestReader,
  ) => Unnumbered<Extract<ControlRequest, { readonly op: O }>>
}

const PARSERS: Parsers = {
  hello: (r) => ({
    protocol: r.whole('protocol'),
    client: r.clientName('client'),
  }),
  createIndex: (r) => ({
    index: r.indexName('index'),
    keyType: parseKeyType(r.text('keyType')),
    payloadKind: parsePayloadKind(r.text('payloadKind')),
    unique: r.flag('unique'),
    ifNotExists: r.flag('ifNotExists'),
    ...layout(r),
  }),
  open: (r) => ({ index: r.indexName('index') }),
  dropIndex: (r) => ({ index: r.indexName('index'), ifExists: r.flag('ifExists') }),
  listIndexes: () => ({}),
  createRelation: (r) => ({
    relation: r.indexName('relation'),
    columns: parseColumns(r.value('columns')),
    ifNotExists: r.flag('ifNotExists'),
  }),
  dropRelation: (r) => ({ relation: r.indexName('relation'), ifExists: r.flag('ifExists') }),
  createRelationIndex: (r) => ({
    relation: r.indexName('relation'),
    index: r.indexName('index'),
    columns: columnNames(r),
    ifNotExists: r.flag('ifNotExists'),
    ...layout(r),
  }),
  listRelations: () => ({}),
  append: (r) => ({
    relation: r.indexName('relation'),
    rows: r.whole('rows'),
    writeId: r.optionalWhole('writeId'),
    columns: columnSections(r),
  }),
  readRelation: (r) => ({
    relation: r.indexName('relation'),
    columns: columnNames(r),
    from: r.optionalWhole('from') ?? 0,
    limit: r.whole('limit', 0, LIMITS.batchItems),
  }),
  stats: target,
  snapshot: target,
  backup: (r) => ({ name: r.optionalText('name') }),
  calibrate: (r) => ({ again: r.flag('again') }),
  query: (r) => ({ query: r.value('query'), lists: readLists(r), ...resultOf(r) }),
  queryNext: (r) => ({ cursor: r.whole('cursor') }),
  queryEnd: (r) => ({ cursor: r.whole('cursor') }),
  cancel: (r) => ({ target: r.whole('target') }),
}

/** What is to become of a query's result. */
function resultOf(r: RequestReader): Pick<QueryRequest, 'explain' | 'keep'> {
  const wanted = { explain: r.flag('explain'), keep: parseKeep(r.value('keep')) }
  if (!wanted.explain || wanted.keep === undefined) return wanted
  throw badRequest('query takes "explain" or "keep", not both')
}

/** An index, or a relation, or neither. */
function target(r: RequestReader): Pick<OptionalTarget, 'index' | 'relation'> {
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
