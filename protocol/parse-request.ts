import { WarpdexError } from './errors.js'
import type { Frame } from './frame.js'
import type { KeySections } from './key-sections.js'
import { LIMITS } from './limits.js'
import {
  type ChangeRequest,
  INSERT_MODES,
  type Op,
  type OptionalTarget,
  type QueryRequest,
  type Request,
} from './messages.js'
import { readLists } from './query/constant-lists.js'
import { parseKeep } from './query/keep.js'
import { parseColumns } from './relation.js'
import { columnNames, columnSections } from './relation-sections.js'
import { RequestReader } from './request-reader.js'
import type { Traversal, TreeLayout } from './traversal.js'
import { parseLayout, parseTraversal } from './traversal-options.js'
import { parseKeyType, parsePayloadKind } from './types.js'

type Unnumbered<R> = R extends { readonly op: Op } ? Omit<R, 'id' | 'op'> : never
type Parsers = {
  readonly [O in Op]: (reader: RequestReader) => Unnumbered<Extract<Request, { readonly op: O }>>
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
  get: (r) => {
    const request = { ...content(r), all: r.flag('all'), traversal: traversal(r) }
    if (!request.all || request.traversal === undefined) return { ...request, ...keySections(r) }
    throw new WarpdexError('BAD_REQUEST', 'get takes no strategy together with all; leave one of them out')
  },
  explain: (r) => ({ ...content(r), traversal: traversal(r), ...keySections(r) }),
  count: (r) => ({ ...content(r), ...keySections(r) }),
  scan: (r) => ({
    ...content(r),
    limit: r.whole('limit', 1, LIMITS.scanEntries),
    reverse: r.flag('reverse'),
    fromExclusive: r.flag('fromExclusive'),
    toExclusive: r.flag('toExclusive'),
    from: r.optionalSection('from'),
    fromOffsets: r.optionalSection('fromOffsets'),
    to: r.optionalSection('to'),
    toOffsets: r.optionalSection('toOffsets'),
    tokens: r.optionalSection('tokens'),
    tokenOffsets: r.optionalSection('tokenOffsets'),
  }),
  getNext: (r) => ({
    ...content(r),
    reverse: r.flag('reverse'),
    traversal: traversal(r),
    ...keySections(r),
    sequences: r.optionalSection('sequences'),
  }),
  insert: (r) => ({
    ...content(r),
    mode: r.choice('mode', INSERT_MODES),
    ...change(r),
    payloads: r.section('payloads'),
    payloadOffsets: r.optionalSection('payloadOffsets'),
  }),
  delete: (r) => ({
    ...content(r),
    ...change(r),
    payloads: r.optionalSection('payloads'),
    payloadOffsets: r.optionalSection('payloadOffsets'),
  }),
  write: (r) => ({
    ...content(r),
    ops: r.section('ops'),
    ...change(r),
    payloads: r.optionalSection('payloads'),
    payloadOffsets: r.optionalSection('payloadOffsets'),
  }),
  load: (r) => ({
    ...content(r),
    mode: r.choice('mode', INSERT_MODES),
    writeId: r.optionalWhole('writeId'),
    after: r.optionalWhole('after'),
    ...keySections(r),
    payloads: r.section('payloads'),
    payloadOffsets: r.optionalSection('payloadOffsets'),
  }),
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
  throw new WarpdexError('BAD_REQUEST', 'query takes "explain" or "keep", not both')
}

/** An index, or a relation, or neither. */
function target(r: RequestReader): Pick<OptionalTarget, 'index' | 'relation'> {
  const named = { index: r.optionalIndexName('index'), relation: r.optionalIndexName('relation') }
  if (named.index === undefined || named.relation === undefined) return named
  throw new WarpdexError('BAD_REQUEST', 'a request names an index or a relation, not both')
}

/** The index whose content is meant. */
function content(r: RequestReader): Pick<ChangeRequest, 'index' | 'generation'> {
  return { index: r.indexName('index'), generation: r.optionalWhole('generation') }
}

function keySections(r: RequestReader): KeySections {
  return { keys: r.section('keys'), keyOffsets: r.optionalSection('keyOffsets') }
}

function change(r: RequestReader): Pick<ChangeRequest, 'writeId' | 'traversal' | keyof KeySections> {
  return { writeId: r.optionalWhole('writeId'), traversal: traversal(r), ...keySections(r) }
}

function traversal(r: RequestReader): Traversal | undefined {
  return parseTraversal({ strategy: r.value('strategy'), resolution: r.value('resolution') })
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

/** Names of all operations. */
export const OPS = Object.keys(PARSERS) as readonly Op[]

function isOp(value: unknown): value is Op {
  return typeof value === 'string' && Object.hasOwn(PARSERS, value)
}

/**
 * Reads a request: its fields' types and ranges, and that it has the sections it needs and no others. What depends on the
 * index (widths and lengths of columns) is checked by `request-columns.ts`.
 *
 * @throws WarpdexError `BAD_REQUEST` that names what is allowed
 */
export function parseRequest(frame: Frame): Request {
  const { id, header } = frame
  if (id === null)
    throw new WarpdexError('BAD_REQUEST', 'a request needs an id, a whole number from 0 to 2^53 - 1')
  const op = isOp(header.op) ? header.op : undefined
  if (op === undefined) {
    throw new WarpdexError('BAD_REQUEST', `unknown or missing op; use one of ${OPS.join(', ')}`)
  }
  const reader = new RequestReader(op, frame)
  const body = PARSERS[op](reader)
  reader.finish()
  return { id, op, ...body } as Request
}
