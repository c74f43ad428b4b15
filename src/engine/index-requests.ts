import type { ReadRequest, ScanOptions, WriteBatch } from '../../gpu/index-structure.js'
import type { ResultMemory } from '../../gpu/memory/result-memory.js'
import type { ScanColumns, WriteColumns } from '../../protocol/request-columns.js'
import type { PayloadColumns } from './payload-reader.js'

/** Tells that nobody waits for a request any more; it is dropped if its turn has not come. */
export interface Cancellation {
  readonly cancelled: boolean
}

/** Who waits for the answer to a read. */
export interface Reader extends Cancellation {
  /** Where a large result may go; memory of its own without it. */
  readonly memory?: ResultMemory | undefined
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

/** An ordered batch of inserts and deletes, and how its keys are to be found. */
export type IndexWrite = WriteColumns & Pick<WriteBatch, 'traversal'>

/** A batch of ranges to scan. */
export type IndexScan = ScanColumns & Omit<ScanOptions, keyof ScanColumns | 'memory'>

/** Keys, or positions within their payloads, whose next entries are asked for. */
export interface IndexGetNext extends Omit<ReadRequest<'getNext'>, 'op'> {
  readonly keys: Uint8Array
  readonly keyOffsets?: Uint32Array | undefined
  readonly sequences?: Uint8Array | undefined
}

/** A structure's result with the payloads that clients know. */
export type WithPayloads<Result> = Omit<Result, 'payloads'> & PayloadColumns
