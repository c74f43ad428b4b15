import type { RelationBatch } from '../../protocol/relation-batch.js'
import type { ColumnChecksums } from '../../protocol/request-columns.js'
import type { WriteOp } from '../../protocol/types.js'
import type { WriteOutcome } from './write-outcomes.js'

/** A write batch in columns, as it came off the wire. */
export interface LogBatch {
  /** One kind for all items, or one byte an item. */
  readonly ops: WriteOp | Uint8Array
  readonly keys: Uint8Array
  /** For keys of variable length only: key i is bytes keyOffsets[i] to keyOffsets[i + 1]. */
  readonly keyOffsets?: Uint32Array | undefined
  /** One payload an item as the device holds it: for payloads of kind `bytes` row id and content hash, so replay needs no bytes. */
  readonly payloads?: Uint8Array | undefined
}

/** The bytes of the payloads of one batch: row firstRow + i is bytes offsets[i] to offsets[i + 1]. */
export interface PayloadSegment {
  /** The next row of the index: rows are dense, ascending and never used again. */
  readonly firstRow: number
  readonly offsets: Uint32Array
  readonly bytes: Uint8Array
}

/** All that becomes durable with a batch, together or not at all. */
export interface LogRecord extends LogBatch {
  readonly segment?: PayloadSegment | undefined
  /** Of its columns, as far as they were made before (`checksums.ts`): they are a record's longest step. */
  readonly checksums?: ColumnChecksums | undefined
  /** Outcomes of the clients' writes that the batch is made of. */
  readonly outcomes?: readonly WriteOutcome[] | undefined
}

/** Rows that are appended to a relation, and the outcomes of the clients' writes that become durable with them. */
export interface AppendRecord {
  readonly batch: RelationBatch
  readonly outcomes?: readonly WriteOutcome[] | undefined
}

/** Where a batch lies in its index's log. */
export interface LogPosition {
  /** Dense and ascending from 1. */
  readonly position: number
  /** Bytes of the record in the log, payload segment and outcomes not counted. */
  readonly bytes: number
}

/** A batch as read back; its columns of bytes are views into one buffer, at any alignment. */
export type LogEntry = LogBatch & LogPosition

/** Appended rows as read back; columns are views into one buffer, at any alignment. */
export type AppendEntry = Pick<AppendRecord, 'batch'> & LogPosition

/** The ordered write batches of every index and relation: with the snapshots they are the truth that everything else is rebuilt from. */
export interface WriteLog {
  /**
   * Resolves when the record is durable. Records of one index get their positions in the order of the calls. Its columns are copied before the
   * call returns.
   *
   * @throws WarpdexError `UNKNOWN_INDEX`, `BAD_REQUEST`, `TOO_LARGE`, `SHUTTING_DOWN`, or `INTERNAL` when the disk failed
   */
  append(index: number, record: LogRecord | AppendRecord): Promise<LogPosition>
  /**
   * The durable batches after a position, in order; 0 stands before the first.
   *
   * @throws WarpdexError `DAMAGED_FILE` naming index and position when a record is damaged or missing
   */
  read(index: number, after: number): AsyncIterable<LogEntry>
  /** As `read`, of a relation. */
  readAppends(relation: number, after: number): AsyncIterable<AppendEntry>
  /** Removes the records up to a position. The last record always stays, so that positions go on from it. */
  trim(index: number, through: number): Promise<void>
  /** Position of the first record that is kept; one more than `last` when there is none. */
  first(index: number): number
  /** Position of the last durable record; 0 when there is none. */
  last(index: number): number
}
