import type { WriteBatch } from '../../gpu/index-structure.js'
import type { TimedColumns } from '../../protocol/request-columns.js'

/** Tells that nobody waits for a request any more; it is dropped if its turn has not come. */
export interface Cancellation {
  readonly cancelled: boolean
  /** Told that the request's turn has come. */
  turnCame?(): void
}

/** Who waits for the answer to a read. */
export interface Reader extends Cancellation {
  /** Who it is: large reads of different ones take turns. */
  readonly owner?: unknown
}

/** Names a write, so that it is applied once however often it is sent. */
export interface WriteId {
  readonly client: string
  readonly number: number
}

/** A part of a bulk load. */
export interface LoadPart {
  /** Number of the same client's write before it, if there is one: this part is stored only if that one is. */
  readonly after?: number | undefined
  /**
   * Shared by the parts of a load within this process, each of which is a chunk by itself: once one has failed, none of those after
   * it is stored.
   */
  readonly course?: { failed: boolean } | undefined
}

/** An ordered batch of inserts and deletes, when its entries expire, and how its keys are to be found. */
export type IndexWrite = TimedColumns & Pick<WriteBatch, 'traversal'>
