import { aligned } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { type Change, type Committer, type Keyspace, valueBytes } from '../disk/committer.js'
import { damaged, keysOfIndex, numberedKey, numberOf } from '../disk/record.js'
import type { PayloadStore } from '../payloads/payload-store.js'
import type { NewSegment } from '../payloads/segment.js'
import type { AppendToLog } from '../replication/change-sets.js'
import {
  type AppendRecord,
  decodeAppend,
  decodeBatch,
  describeLogRecord,
  encodeAppend,
  encodeBatch,
  encodeRange,
  encodeRemoval,
  type LogRecord,
  type RangeRecord,
  type RemovalRecord,
  type RowChanges,
  type StoredBatch,
  startOfBatch,
  TIME_BYTES,
} from './log-records.js'
import { SpareBuffers } from './spare-buffers.js'
import { checkOutcome, type WriteOutcome, type WriteOutcomes } from './write-outcomes.js'

/** Where a batch lies in its index's log. */
export interface LogPosition {
  /** Dense and ascending from 1. */
  readonly position: number
  /** Bytes of the record in the log, payload segment and outcomes not counted. */
  readonly bytes: number
}

/** A batch as read back; its columns of bytes are views into one buffer, at any alignment. */
export type LogEntry = StoredBatch & LogPosition

/** Changes of a relation as read back; columns are views into one buffer, at any alignment. */
export type AppendEntry = RowChanges & LogPosition

/** Records that one transaction removes. */
const REMOVALS = 4096
/** Records that are brought into memory at a time. */
const PREFETCHED = 64

/** A record as it is stored. */
interface StoredValue {
  readonly key: Buffer
  readonly value: Buffer
  readonly position: number
}

/** A record of any kind. */
export type AnyRecord = LogRecord | RangeRecord | RemovalRecord | AppendRecord

/** A record, and the index or relation that it is of. */
export interface RecordOf {
  readonly index: number
  readonly record: AnyRecord
}

/** A record that is about to be stored. */
interface StagedRecord extends Pick<StoredValue, 'value' | 'position'> {
  readonly index: number
  readonly positions: Positions
  readonly segments: readonly NewSegment[]
  readonly outcomes: readonly WriteOutcome[]
  readonly changes: readonly Change[]
}

interface Positions {
  first: number
  /** The last position that is durable. */
  last: number
  /** The last position that has been given out. */
  reserved: number
  /** Bytes of all records that were ever given out, with the payloads beside them; known once that was asked for. */
  bytes: number | undefined
  /** Those of the records that are kept and that no snapshot needs. */
  retainedBytes: number
}

/** Told of an index, or relation, whose log has grown. */
type OnGrowth = (index: number) => void

/**
 * The ordered write batches of every index and relation, under its id and their position: with the snapshots they are the truth that everything
 * else is rebuilt from.
 */
export class WriteLog {
  readonly #committer: Committer
  readonly #keyspace: Keyspace
  readonly #payloads: PayloadStore
  readonly #outcomes: WriteOutcomes
  readonly #positions = new Map<number, Positions>()
  /** One that is being written to the disk, and one that is being filled. */
  readonly #buffers = new SpareBuffers(2)
  /** Told when a record is durable. */
  onGrowth: OnGrowth = () => {}

  constructor(committer: Committer, keyspace: Keyspace, payloads: PayloadStore, outcomes: WriteOutcomes) {
    this.#committer = committer
    this.#keyspace = keyspace
    this.#payloads = payloads
    this.#outcomes = outcomes
  }

  /** Takes up the log of an index. */
  open(index: number): void {
    const { start, end } = keysOfIndex(index)
    const [first] = this.#keyspace.getKeys({ start, end, limit: 1 })
    const [last] = this.#keyspace.getKeys({ start: end, end: start, reverse: true, limit: 1 })
    const lastPosition = last === undefined ? 0 : numberOf(last)
    this.#positions.set(index, {
      first: first === undefined ? 1 : numberOf(first),
      last: lastPosition,
      reserved: lastPosition,
      bytes: undefined,
      retainedBytes: 0,
    })
  }

  /** Takes back the positions that were given out and did not become durable. */
  rollBack(): void {
    for (const positions of this.#positions.values()) positions.reserved = positions.last
  }

  /** Takes up a record, as it was stored by another replica. */
  took(key: Buffer, value: Buffer | undefined): void {
    const index = key.readUInt32BE(0)
    const positions = this.#of(index)
    positions.last = numberOf(key)
    positions.reserved = positions.last
    if (positions.bytes !== undefined) positions.bytes += value?.length ?? 0
    this.onGrowth(index)
  }

  /** Takes no more records of an index. */
  close(index: number): void {
    this.#positions.delete(index)
  }

  /** Removes the log of an index that was closed. */
  async remove(index: number): Promise<void> {
    await this.#committer.removeIndex(this.#keyspace, index)
  }

  /**
   * Resolves when the record is durable. Records of one index get their positions in the order of the calls. Its columns are copied before the
   * call returns.
   *
   * @throws WarpdexError `UNKNOWN_INDEX`, `BAD_REQUEST`, `TOO_LARGE`, `SHUTTING_DOWN`, or `INTERNAL` when the disk failed
   */
  async append(index: number, record: AnyRecord): Promise<LogPosition> {
    const [position] = await this.appendAll([{ index, record }])
    return position!
  }

  /**
   * As `append`, of a record each of several indexes and relations, all or none of which become durable.
   * @param how they are appended to the log of a replica set
   */
  async appendAll(records: readonly RecordOf[], how?: AppendToLog): Promise<readonly LogPosition[]> {
    const staged = records.map((each) => this.#stage(each))
    checkSize(
      staged.flatMap(({ changes }) => changes),
      staged.flatMap(({ outcomes }) => outcomes),
    )
    // From here on nothing may go wrong but the disk, after whose failure all of this is taken back.
    for (const { index, positions, position, segments, changes } of staged) {
      positions.reserved = position
      if (positions.bytes !== undefined) positions.bytes += valueBytes(changes)
      if (segments.length > 0) this.#payloads.reserve(index, segments)
    }
    const changes = staged.flatMap(({ index, position, outcomes, changes: own }) => [
      ...own,
      ...outcomes.flatMap((outcome) => this.#outcomes.add(index, position, outcome)),
    ])
    const take = () => {
      for (const { index, positions, position, segments } of staged) {
        positions.last = position
        if (segments.length > 0) this.#payloads.add(index, segments)
        this.onGrowth(index)
      }
    }
    await this.#committer.commitShared(changes, take, how)
    return staged.map(({ position, value }) => {
      this.#buffers.give(value)
      return { position, bytes: value.length }
    })
  }

  /** What is to be stored of a record. Changes nothing. */
  #stage({ index, record }: RecordOf): StagedRecord {
    const positions = this.#of(index)
    this.#committer.requireShared()
    const { outcomes = [] } = record
    outcomes.forEach(checkOutcome)
    const position = positions.reserved + 1
    const key = numberedKey(index, position)
    const start = 'batch' in record ? 0 : this.#bytesOf(index, positions)
    const value = encoded(key, record, start, (bytes) => this.#buffers.take(bytes))
    const segment = 'segment' in record ? record.segment : undefined
    const segments = segment === undefined ? [] : this.#payloads.cut(index, segment)
    const changes = [{ keyspace: this.#keyspace, key, value }, ...segments.map(({ change }) => change)]
    return { index, positions, position, value, segments, outcomes, changes }
  }

  /**
   * The durable batches after a position, in order; 0 stands before the first.
   *
   * @throws WarpdexError `DAMAGED_FILE` naming index and position when a record is damaged or missing
   */
  async *read(index: number, after: number): AsyncGenerator<LogEntry> {
    for (const { key, value, position } of this.#values(index, after)) {
      yield { ...decodeBatch(key, value), position, bytes: value.length }
    }
  }

  /** Has another thread bring the records after a position into memory: a read that waits for the disk would hold up all else in this one. */
  async prefetch(index: number, after: number): Promise<void> {
    const count = Math.min(this.#of(index).last - after, PREFETCHED)
    await this.#keyspace.prefetch(Array.from({ length: count }, (_, i) => numberedKey(index, after + 1 + i)))
  }

  /** As `read`, of a relation. */
  async *readAppends(relation: number, after: number): AsyncGenerator<AppendEntry> {
    for (const { key, value, position } of this.#values(relation, after)) {
      yield { ...decodeAppend(key, value), position, bytes: value.length }
    }
  }

  *#values(index: number, after: number): Generator<StoredValue> {
    const { first, last } = this.#of(index)
    if (after < last && after + 1 < first) {
      throw damaged(`the log of index ${index} begins at position ${first}; position ${after + 1} is missing`)
    }
    for (let position = after + 1; position <= last; position++) yield this.#value(index, position)
  }

  #value(index: number, position: number): StoredValue {
    const key = numberedKey(index, position)
    const value = this.#keyspace.getBinary(key)
    if (value === undefined) throw damaged(`${describeLogRecord(key)} is missing`)
    return { key, value, position }
  }

  /**
   * Removes the records up to a position, but for the newest ones that have so many bytes. The last record always stays, so that positions go on
   * from it.
   */
  async trim(index: number, through: number, retainedBytes = 0): Promise<void> {
    const positions = this.#of(index)
    const { first, last } = positions
    const retained = retainedBytes > 0 ? this.#firstOfLast(index, positions, retainedBytes) : last
    const limit = Math.min(through, last - 1, retained - 1)
    for (let from = first; from <= limit; from += REMOVALS) {
      const next = Math.min(from + REMOVALS, limit + 1)
      const keys = Array.from({ length: next - from }, (_, i) => numberedKey(index, from + i))
      // Nobody may read what is about to go.
      positions.first = next
      await this.#committer.commit(keys.map((key) => ({ keyspace: this.#keyspace, key })))
    }
    if (retainedBytes === 0) return
    const needed = Math.min(through + 1, last)
    positions.retainedBytes =
      needed <= positions.first ? 0 : this.#start(index, needed) - this.#start(index, positions.first)
  }

  /** Bytes of records of all indexes that are kept and that no snapshot needs. */
  get retainedBytes(): number {
    let bytes = 0
    for (const positions of this.#positions.values()) bytes += positions.retainedBytes
    return bytes
  }

  /** The first of the last records that have at most so many bytes together. */
  #firstOfLast(index: number, positions: Positions, bytes: number): number {
    const least = this.#bytesOf(index, positions) - bytes
    let { first: low, last: high } = positions
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (this.#start(index, middle) >= least) high = middle
      else low = middle + 1
    }
    return low
  }

  #bytesOf(index: number, positions: Positions): number {
    const { last, bytes } = positions
    if (bytes !== undefined) return bytes
    positions.bytes = last === 0 ? 0 : this.#start(index, last) + this.#value(index, last).value.length
    return positions.bytes
  }

  /** Bytes of all records before one. */
  #start(index: number, position: number): number {
    const { key, value } = this.#value(index, position)
    return startOfBatch(key, value)
  }

  /**
   * The first row of payloads of kind `bytes` that a record which is kept may refer to.
   * @throws WarpdexError `DAMAGED_FILE`
   */
  firstRow(index: number): number {
    for (const { key, value } of this.#values(index, this.#of(index).first - 1)) {
      const { payloads, expiry } = decodeBatch(key, value)
      if (payloads === undefined || payloads.byteLength === 0) continue
      const at = expiry === undefined ? 0 : TIME_BYTES
      const [low, high] = aligned(payloads.subarray(at, at + 8), Uint32Array)
      return low + high * 2 ** 32
    }
    return this.#payloads.nextRow(index)
  }

  /** Position of the first record that is kept; one more than `last` when there is none. */
  first(index: number): number {
    return this.#of(index).first
  }

  /** Position of the last durable record; 0 when there is none. */
  last(index: number): number {
    return this.#of(index).last
  }

  #of(index: number): Positions {
    const positions = this.#positions.get(index)
    if (positions === undefined) throw new WarpdexError('UNKNOWN_INDEX', `there is no index with id ${index}`)
    return positions
  }
}

function encoded(key: Buffer, record: AnyRecord, start: number, take: (bytes: number) => Buffer): Buffer {
  if ('batch' in record) return encodeAppend(key, record, take)
  if ('due' in record) return encodeRemoval(key, record, start, take)
  return 'range' in record ? encodeRange(key, record, start, take) : encodeBatch(key, record, start, take)
}

function checkSize(changes: readonly Change[], outcomes: readonly WriteOutcome[]): void {
  const bytes = outcomes.reduce(
    (sum, { codes, batch }) => sum + (codes ?? batch?.codes ?? []).length,
    valueBytes(changes),
  )
  if (bytes > LIMITS.transactionBytes) {
    throw new WarpdexError(
      'TOO_LARGE',
      `a write of ${bytes} bytes does not fit in one transaction of at most ${LIMITS.transactionBytes}; send smaller batches`,
    )
  }
}
