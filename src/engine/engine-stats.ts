import type { SlabFigures } from '../../gpu/memory/slab-set.js'
import type { ClusterFigures, ReplicaFigures } from '../../protocol/replica.js'
import type { BackupProgress, IndexStats } from '../../protocol/replies.js'
import type { QueryFigures } from '../query/queries.js'
import type { RelationFacts } from './named-relation.js'
import type { VersionFigures } from './read-versions.js'

export interface ServerStats {
  readonly version: string
  readonly uptimeSeconds: number
  readonly adapter: { readonly name: string; readonly software: boolean }
  /** Bytes of device memory that indexes and relations own. */
  readonly deviceBytes: number
  /** What that memory lies in, by sort; with what is kept ahead of need. */
  readonly slabs: readonly SlabFigures[]
  /** Bytes of device memory that they may own; absent when nobody has limited it. */
  readonly deviceLimitBytes?: number
  /** Indexes and relations that are paged out, and bytes of host memory that they take. */
  readonly pagedOutIndexes: number
  readonly pagedOutRelations: number
  readonly pagedOutBytes: number
  /** Bytes of host memory that what came back from there has left, so that only changed pages are read when it is paged out again. */
  readonly hostCopyBytes: number
  /** Bytes of pages that were read from the device to page out, since it was opened. */
  readonly pageOutBytes: number
  /** Bytes of the store on disk. */
  readonly storeBytes: number
  /** Bytes of payloads of kind `bytes` in memory. */
  readonly cachedPayloadBytes: number
  readonly queries: QueryFigures
  readonly versions: VersionFigures
  /** Requests that wait for changes, and bytes of logs that are kept for feeds only. */
  readonly feeds: { readonly waiting: number; readonly logBytes: number }
  /** Only of a node of a cluster. */
  readonly replica?: ReplicaFigures
  readonly cluster?: ClusterFigures
  /** How far the backup is that is being made, in bytes. */
  readonly backup?: BackupProgress
}

export interface EngineStats {
  readonly server: ServerStats & Readonly<Record<string, unknown>>
  readonly indexes: readonly IndexStats[]
  readonly relations: readonly RelationFacts[]
}
