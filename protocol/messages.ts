import { ERROR_CODES, WarpdexError } from './errors.js'
import type { Frame, Section } from './frame.js'
import type { KeySections, RangeSections } from './key-sections.js'
import { LIMITS } from './limits.js'
import type { LoadCounts } from './load.js'
import { RequestReader } from './request-reader.js'
import type { Explanation, Traversal, TreeLayout } from './traversal.js'
import { parseLayout, parseTraversal } from './traversal-options.js'
import {
  type IndexDefinition,
  type KeyType,
  type PayloadKind,
  parseKeyType,
  parsePayloadKind,
} from './types.js'

/** Version of the protocol; hello names it, and the server refuses another. */
export const PROTOCOL_VERSION = 1

/** What an insert does with a key that is there already; the first is the default. */
export const INSERT_MODES = ['append', 'replace', 'ifAbsent'] as const
export type InsertMode = (typeof INSERT_MODES)[number]

/** A request on the columns of one index. */
interface IndexRequest {
  readonly id: number
  readonly index: string
}

/** A request that may say how its keys are to be found. */
interface TraversalChoice {
  readonly traversal?: Traversal | undefined
}

interface WriteIdentity {
  /** A write of the same client with the same number is applied once, however often it is sent. */
  readonly writeId?: number | undefined
}

/** One payload an item; `payloadOffsets` (u32, items + 1) cuts `payloads` where the index's payloads are of kind `bytes`. */
interface PayloadSections {
  readonly payloads: Section
  readonly payloadOffsets?: Section | undefined
}

/** Payloads of a write that can do without: a deletion of keys needs none. */
interface OptionalPayloadSections {
  readonly payloads?: Section | undefined
  readonly payloadOffsets?: Section | undefined
}

export interface HelloRequest {
  readonly id: number
  readonly op: 'hello'
  readonly protocol: number
  /** Name of the client, the same over all its connections: write ids are its own. */
  readonly client: string
}

export interface CreateIndexRequest extends IndexRequest, TreeLayout {
  readonly op: 'createIndex'
  readonly keyType: KeyType
  readonly payloadKind: PayloadKind
  readonly unique: boolean
  readonly ifNotExists: boolean
}

export interface DropIndexRequest extends IndexRequest {
  readonly op: 'dropIndex'
  readonly ifExists: boolean
}

export interface ListIndexesRequest {
  readonly id: number
  readonly op: 'listIndexes'
}

export interface StatsRequest {
  readonly id: number
  readonly op: 'stats'
  readonly index?: string | undefined
}

export interface GetRequest extends IndexRequest, TraversalChoice, KeySections {
  readonly op: 'get'
  readonly all: boolean
}

export interface ExplainRequest extends IndexRequest, TraversalChoice, KeySections {
  readonly op: 'explain'
}

export interface CountRequest extends IndexRequest, KeySections {
  readonly op: 'count'
}

export interface ScanRequest extends IndexRequest, RangeSections {
  readonly op: 'scan'
  /** Entries a range. */
  readonly limit: number
  readonly reverse: boolean
  readonly fromExclusive: boolean
  readonly toExclusive: boolean
}

export interface GetNextRequest extends IndexRequest, TraversalChoice, KeySections {
  readonly op: 'getNext'
  readonly reverse: boolean
  readonly sequences?: Section | undefined
}

/** A request that changes one index. */
interface ChangeRequest extends IndexRequest, WriteIdentity, TraversalChoice, KeySections {}

export interface InsertRequest extends ChangeRequest, PayloadSections {
  readonly op: 'insert'
  readonly mode: InsertMode
}

export interface DeleteRequest extends ChangeRequest, OptionalPayloadSections {
  readonly op: 'delete'
}

export interface WriteRequest extends ChangeRequest, OptionalPayloadSections {
  readonly op: 'write'
  readonly ops: Section
}

/** A part of a bulk load: as an insert, but answered by counts. */
export interface LoadRequest extends IndexRequest, WriteIdentity, KeySections, PayloadSections {
  readonly op: 'load'
  readonly mode: InsertMode
  /** Write id of the part before it: this one is stored only if that one is. */
  readonly after?: number | undefined
}

export interface SnapshotRequest {
  readonly id: number
  readonly op: 'snapshot'
  readonly index?: string | undefined
}

export interface BackupRequest {
  readonly id: number
  readonly op: 'backup'
  /** Of the folder to make among the server's backups; by default it tells the time. */
  readonly name?: string | undefined
}

export interface CancelRequest {
  readonly id: number
  readonly op: 'cancel'
  readonly target: number
}

export type Request =
  | HelloRequest
  | CreateIndexRequest
  | DropIndexRequest
  | ListIndexesRequest
  | StatsRequest
  | GetRequest
  | ExplainRequest
  | CountRequest
  | ScanRequest
  | GetNextRequest
  | InsertRequest
  | DeleteRequest
  | WriteRequest
  | LoadRequest
  | SnapshotRequest
  | BackupRequest
  | CancelRequest

export type Op = Request['op']

export interface AdapterInfo {
  readonly name: string
  /** True when a CPU does the device's work. */
  readonly software: boolean
}

export interface IndexStats extends IndexDefinition {
  readonly keys: number
  readonly payloads: number
  readonly deviceBytes: number
  /** Further figures; they may differ between versions. */
  readonly [figure: string]: unknown
}

export interface SnapshotInfo {
  readonly index: string
  /** Position in the index's write log that the snapshot stands for. */
  readonly position: number
  readonly bytes: number
}

/** A backup that was made. */
export interface BackupInfo {
  /** Of its folder on the server's host. */
  readonly path: string
  readonly bytes: number
  readonly indexes: number
}

/** A backup that is being made. */
export interface BackupProgress {
  readonly path: string
  /** Bytes that were copied or checked, and how many that are going to be, as far as that is known. */
  readonly done: number
  readonly total: number
}

type NoFields = Readonly<Record<never, never>>

/** Header fields of a successful reply, beside `id` and `ok`. Columns come as sections, see `docs/protocol.md`. */
export interface ReplyFields {
  readonly hello: {
    readonly server: string
    readonly protocol: number
    readonly adapter: AdapterInfo
    readonly limits: Pick<
      typeof LIMITS,
      'frameBytes' | 'batchItems' | 'scanEntries' | 'keyBytes' | 'payloadBytes'
    >
  }
  readonly createIndex: { readonly definition: IndexDefinition; readonly created: boolean }
  readonly dropIndex: { readonly dropped: boolean }
  readonly listIndexes: { readonly indexes: readonly IndexDefinition[] }
  readonly stats: {
    readonly server: Readonly<Record<string, unknown>>
    readonly indexes: readonly IndexStats[]
  }
  readonly get: NoFields
  readonly explain: { readonly explanation: Explanation }
  readonly count: NoFields
  readonly scan: NoFields
  readonly getNext: NoFields
  readonly insert: NoFields
  readonly delete: NoFields
  readonly write: NoFields
  readonly load: LoadCounts
  readonly snapshot: { readonly snapshots: readonly SnapshotInfo[] }
  readonly backup: BackupInfo
  readonly cancel: { readonly cancelled: boolean }
}

/** Header of a successful reply. */
export function replyHeader<O extends Op>(id: number, fields: ReplyFields[O]): object {
  return { id, ok: true, ...fields }
}

/** Longest message of an error reply in characters: messages quote what was sent, and a header has a limit. */
const ERROR_MESSAGE_LENGTH = 2000

/** Header of an error reply; `id` is null when the request's could not be read. */
export function errorHeader(id: number | null, { code, message }: WarpdexError): object {
  return { id, ok: false, error: { code, message: message.slice(0, ERROR_MESSAGE_LENGTH) } }
}

/** The error that a reply carries, or undefined for a successful one. */
export function replyError({ header }: Frame): WarpdexError | undefined {
  if (header.ok === true) return undefined
  const { code, message } = Object(header.error)
  const known = ERROR_CODES.find((candidate) => candidate === code) ?? 'INTERNAL'
  return new WarpdexError(known, typeof message === 'string' ? message : 'the server gave no reason')
}

/** The fields of a successful reply. The server is trusted to keep to the protocol: they are not checked one by one. */
export function replyFields<O extends Op>({ header }: Frame): ReplyFields[O] {
  const { id: _id, ok: _ok, ...fields } = header
  return fields as unknown as ReplyFields[O]
}

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
  stats: (r) => ({ index: r.optionalIndexName('index') }),
  get: (r) => {
    const request = { index: r.indexName('index'), all: r.flag('all'), traversal: traversal(r) }
    if (!request.all || request.traversal === undefined) return { ...request, ...keySections(r) }
    throw new WarpdexError('BAD_REQUEST', 'get takes no strategy together with all; leave one of them out')
  },
  explain: (r) => ({ index: r.indexName('index'), traversal: traversal(r), ...keySections(r) }),
  count: (r) => ({ index: r.indexName('index'), ...keySections(r) }),
  scan: (r) => ({
    index: r.indexName('index'),
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
    index: r.indexName('index'),
    reverse: r.flag('reverse'),
    traversal: traversal(r),
    ...keySections(r),
    sequences: r.optionalSection('sequences'),
  }),
  insert: (r) => ({
    index: r.indexName('index'),
    mode: r.choice('mode', INSERT_MODES),
    ...change(r),
    payloads: r.section('payloads'),
    payloadOffsets: r.optionalSection('payloadOffsets'),
  }),
  delete: (r) => ({
    index: r.indexName('index'),
    ...change(r),
    payloads: r.optionalSection('payloads'),
    payloadOffsets: r.optionalSection('payloadOffsets'),
  }),
  write: (r) => ({
    index: r.indexName('index'),
    ops: r.section('ops'),
    ...change(r),
    payloads: r.optionalSection('payloads'),
    payloadOffsets: r.optionalSection('payloadOffsets'),
  }),
  load: (r) => ({
    index: r.indexName('index'),
    mode: r.choice('mode', INSERT_MODES),
    writeId: r.optionalWhole('writeId'),
    after: r.optionalWhole('after'),
    ...keySections(r),
    payloads: r.section('payloads'),
    payloadOffsets: r.optionalSection('payloadOffsets'),
  }),
  snapshot: (r) => ({ index: r.optionalIndexName('index') }),
  backup: (r) => ({ name: r.optionalText('name') }),
  cancel: (r) => ({ target: r.whole('target') }),
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
