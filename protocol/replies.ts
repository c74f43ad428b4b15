import type { IndexHandle } from './data-request.js'
import { ERROR_CODES, WarpdexError } from './errors.js'
import type { Frame } from './frame.js'
import type { LIMITS } from './limits.js'
import type { ControlOp } from './messages.js'
import type { PlacedBatch } from './query/batch-section.js'
import type { QueryExplanation } from './query/explanation.js'
import type { KeptRelation } from './query/keep.js'
import type { PackedQuery } from './query/pack-query.js'
import type { SelectionCosts } from './query/selection-costs.js'
import type { ColumnDefinition, RelationDefinition, RelationInfo } from './relation.js'
import type { AppendedRows } from './relation-batch.js'
import type { ClusterFigures, NodePosition } from './replica.js'
import type { SlowRequest } from './slow-request.js'
import type { IndexDefinition } from './types.js'

export interface AdapterInfo {
  readonly name: string
  /** True when a CPU does the device's work. */
  readonly software: boolean
}

export interface IndexStats extends OpenedIndex {
  readonly keys: number
  readonly payloads: number
  readonly deviceBytes: number
  /** Further figures; they may differ between versions. */
  readonly [figure: string]: unknown
}

/** An index, and the handle by which requests for its data name it. */
export interface OpenedIndex extends IndexDefinition, IndexHandle {}

export interface RelationStats extends RelationInfo {
  readonly rows: number
  readonly deviceBytes: number
  /** Further figures; they may differ between versions. */
  readonly [figure: string]: unknown
}

export interface SnapshotFigures {
  /** Position in the write log that the snapshot stands for. */
  readonly position: number
  readonly bytes: number
}

/** A snapshot of an index or of a relation. */
export type SnapshotInfo = SnapshotFigures &
  (
    | { readonly index: string; readonly relation?: undefined }
    | { readonly relation: string; readonly index?: undefined }
  )

/** A backup that was made. */
export interface BackupInfo {
  /** Of its folder on the server's host. */
  readonly path: string
  readonly bytes: number
  readonly indexes: number
  readonly relations: number
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
    /** Replica sets of the server's cluster, where there are several: a connection means all of them, or one by `?set=0` in its address. */
    readonly sets?: number | undefined
    readonly limits: Pick<
      typeof LIMITS,
      'frameBytes' | 'batchItems' | 'scanEntries' | 'keyBytes' | 'payloadBytes'
    >
  }
  readonly cluster: ClusterFigures
  readonly position: NodePosition
  /** Address of the owner by now, where one is known. */
  readonly handOver: { readonly owner?: string | undefined }
  readonly open: OpenedIndex
  readonly createIndex: { readonly definition: IndexDefinition; readonly created: boolean }
  readonly dropIndex: { readonly dropped: boolean }
  readonly renameIndex: NoFields
  readonly swapIndexes: NoFields
  readonly listIndexes: { readonly indexes: readonly IndexDefinition[] }
  readonly openVersion: NoFields
  readonly closeVersion: { readonly closed: boolean }
  readonly stats: {
    readonly server: Readonly<Record<string, unknown>>
    readonly indexes: readonly IndexStats[]
    readonly relations: readonly RelationStats[]
  }
  readonly createRelation: { readonly definition: RelationDefinition; readonly created: boolean }
  readonly dropRelation: { readonly dropped: boolean }
  readonly createRelationIndex: { readonly definition: IndexDefinition; readonly created: boolean }
  readonly listRelations: { readonly relations: readonly RelationInfo[] }
  readonly append: AppendedRows
  /** Rows that were deleted or updated; the updated ones lie from `first` on now. */
  readonly changeRows: { readonly changed: number; readonly first?: number }
  /** Of each append, in their order. */
  readonly batch: { readonly appended: readonly AppendedRows[] }
  readonly readRelation: {
    readonly columns: readonly ColumnDefinition[]
    /** Rows of the reply. */
    readonly rows: number
    /** Numbers of rows that the relation has given, to those that were deleted too. */
    readonly total: number
    /** How often rows have got other numbers, by compactions. */
    readonly numbering: number
    /** The row number to go on from, where that is not the first one's and `rows`, since some were deleted. */
    readonly next?: number
  }
  readonly snapshot: { readonly snapshots: readonly SnapshotInfo[] }
  readonly backup: BackupInfo
  readonly slowRequests: {
    /** Milliseconds from which on a request is slow; 0 where none are kept. */
    readonly threshold: number
    /** In the order in which they were answered. */
    readonly requests: readonly SlowRequest[]
  }
  readonly calibrate: {
    readonly adapter: AdapterInfo & {
      /** The driver and its version, in its own words. */
      readonly driver: string
    }
    /** Of the traversal strategies, by names that may differ between versions; absent where they were not measured. */
    readonly traversals?: Readonly<Record<string, number>> | undefined
    /** Of selections; absent where they were not measured. */
    readonly selections?: SelectionCosts | undefined
  }
  readonly query: {
    /** Absent where the query was explained, or its result kept. */
    readonly batch?: PlacedBatch | undefined
    /** How to get the rows that follow, where there are any. */
    readonly cursor?: number | undefined
    readonly explanation?: QueryExplanation | undefined
    readonly kept?: KeptRelation | undefined
    /** The tree of a statement, how many lists of constants come with it, and whether it is to be explained. */
    readonly plan?: (PackedQuery['fields'] & { readonly explain: boolean }) | undefined
  }
  readonly queryNext: { readonly batch: PlacedBatch; readonly more: boolean }
  readonly queryEnd: NoFields
  readonly cancel: { readonly cancelled: boolean }
}

/** Header of a successful reply. */
export function replyHeader(id: number, fields: object): object {
  return { id, ok: true, ...fields }
}

/** Longest message of an error reply in characters: messages quote what was sent, and a header has a limit. */
const ERROR_MESSAGE_LENGTH = 2000

/** Header of an error reply; `id` is null when the request's could not be read. */
export function errorHeader(id: number | null, { code, message, item, owner }: WarpdexError): object {
  const shown = message.slice(0, ERROR_MESSAGE_LENGTH)
  return { id, ok: false, error: { code, message: shown, item, owner } }
}

/** The error that a reply carries, or undefined for a successful one. */
export function replyError({ header }: Frame): WarpdexError | undefined {
  if (header.ok === true) return undefined
  const { code, message, item, owner } = Object(header.error)
  const known = ERROR_CODES.find((candidate) => candidate === code) ?? 'INTERNAL'
  const reason = typeof message === 'string' ? message : 'the server gave no reason'
  return new WarpdexError(known, reason, {
    item: typeof item === 'number' ? item : undefined,
    owner: typeof owner === 'string' ? owner : undefined,
  })
}

/** The fields of a successful reply. The server is trusted to keep to the protocol: they are not checked one by one. */
export function replyFields<O extends ControlOp>({ header }: Frame): ReplyFields[O] {
  const { id: _id, ok: _ok, ...fields } = header
  return fields as unknown as ReplyFields[O]
}
