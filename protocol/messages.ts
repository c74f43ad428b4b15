import type { DataRequest } from './data-request.js'
import type { ConstantList } from './query/constant-lists.js'
import type { Keep } from './query/keep.js'
import type { ColumnDefinition } from './relation.js'
import type { ColumnSections } from './relation-sections.js'
import type { TreeLayout } from './traversal.js'
import type { KeyType, PayloadKind } from './types.js'

/** Version of the protocol; hello names it, and the server refuses another. */
export const PROTOCOL_VERSION = 2

/** A request on one relation. */
interface RelationRequest {
  readonly id: number
  readonly relation: string
}

/** A request on one index by its name. */
interface IndexRequest {
  readonly id: number
  readonly index: string
}

/** A request on one index, on one relation, or on all of them. */
export interface OptionalTarget {
  readonly id: number
  readonly index?: string | undefined
  readonly relation?: string | undefined
}

interface WriteIdentity {
  /** A write of the same client with the same number is applied once, however often it is sent. */
  readonly writeId?: number | undefined
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

/** Asks for the handle by which requests for data name an index. */
export interface OpenRequest extends IndexRequest {
  readonly op: 'open'
}

export interface DropIndexRequest extends IndexRequest {
  readonly op: 'dropIndex'
  readonly ifExists: boolean
}

export interface ListIndexesRequest {
  readonly id: number
  readonly op: 'listIndexes'
}

export interface StatsRequest extends OptionalTarget {
  readonly op: 'stats'
}

export interface CreateRelationRequest extends RelationRequest {
  readonly op: 'createRelation'
  readonly columns: readonly ColumnDefinition[]
  readonly ifNotExists: boolean
}

export interface DropRelationRequest extends RelationRequest {
  readonly op: 'dropRelation'
  readonly ifExists: boolean
}

/** Creates an index over columns of a relation. */
export interface CreateRelationIndexRequest extends RelationRequest, TreeLayout {
  readonly op: 'createRelationIndex'
  readonly index: string
  readonly columns: readonly string[]
  readonly ifNotExists: boolean
}

export interface ListRelationsRequest {
  readonly id: number
  readonly op: 'listRelations'
}

/** Adds rows to a relation. Nullable columns may be left out. */
export interface AppendRequest extends RelationRequest, WriteIdentity {
  readonly op: 'append'
  readonly rows: number
  readonly columns: readonly ColumnSections[]
}

/** Asks for rows of a relation in the order in which they were appended. */
export interface ReadRelationRequest extends RelationRequest {
  readonly op: 'readRelation'
  /** Names of columns; of all where there are none. */
  readonly columns: readonly string[]
  /** Number of the first row. */
  readonly from: number
  /** Rows at most; a reply may have fewer, since it has a limit. */
  readonly limit: number
}

export interface SnapshotRequest extends OptionalTarget {
  readonly op: 'snapshot'
}

export interface BackupRequest {
  readonly id: number
  readonly op: 'backup'
  /** Of the folder to make among the server's backups; by default it tells the time. */
  readonly name?: string | undefined
}

/** Asks for what the device's costs were measured to be. */
export interface CalibrateRequest {
  readonly id: number
  readonly op: 'calibrate'
  /** Measure them anew, which takes seconds. */
  readonly again: boolean
}

/** A query over relations; see `protocol/query/tree.ts`. */
export interface QueryRequest {
  readonly id: number
  readonly op: 'query'
  /** Checked when it is carried out: it depends on the relations. */
  readonly query: unknown
  /** Constants of the tree that came as columns. */
  readonly lists: readonly ConstantList[]
  /** Answer with what its steps did, not with its rows. */
  readonly explain: boolean
  /** Keep the result on the device and answer with what it is, not with its rows. */
  readonly keep?: Keep | undefined
}

/** For more rows of a query's result. */
export interface QueryNextRequest {
  readonly id: number
  readonly op: 'queryNext'
  readonly cursor: number
}

/** The rest of a query's result is not wanted. */
export interface QueryEndRequest {
  readonly id: number
  readonly op: 'queryEnd'
  readonly cursor: number
}

export interface CancelRequest {
  readonly id: number
  readonly op: 'cancel'
  readonly target: number
}

/** What travels as msgpack: all but requests for data. */
export type ControlRequest =
  | HelloRequest
  | OpenRequest
  | CreateIndexRequest
  | DropIndexRequest
  | ListIndexesRequest
  | CreateRelationRequest
  | DropRelationRequest
  | CreateRelationIndexRequest
  | ListRelationsRequest
  | AppendRequest
  | ReadRelationRequest
  | StatsRequest
  | SnapshotRequest
  | BackupRequest
  | CalibrateRequest
  | QueryRequest
  | QueryNextRequest
  | QueryEndRequest
  | CancelRequest

export type Request = ControlRequest | DataRequest

export type ControlOp = ControlRequest['op']
export type Op = Request['op']
