import { WarpdexError } from '../protocol/errors.js'
import type { Committer, Keyspace } from './committer.js'
import { type CompactionStep, compact, type RowFilter } from './compaction.js'
import { type GatheredPayloads, type GatherRequest, gather } from './gather.js'
import { HeldRows } from './held-rows.js'
import { keysOfIndex } from './keys.js'
import { damaged } from './record.js'
import {
  cutSegments,
  decodeSegment,
  type NewSegment,
  newSegment,
  parseSegmentKey,
  type Segment,
  type SegmentBody,
  segmentKey,
} from './segment.js'
import { SegmentCache } from './segment-cache.js'
import type { PayloadSegment } from './write-log.js'

interface IndexPayloads {
  /** In the order of their rows; replaced as a whole by compaction. */
  segments: Segment[]
  nextRow: number
}

export interface PayloadStats {
  /** Rows that were ever given: also the number of the next one. */
  readonly rows: number
  /** Rows that segments hold, dead ones among them. */
  readonly heldRows: number
  readonly bytes: number
  readonly segments: number
}

/**
 * The payloads of kind `bytes` of all indexes. They lie in append-only segments of neighbouring rows; of the segments the store
 * keeps a list in memory, and of their payloads as many as its budget allows.
 */
export class PayloadStore {
  readonly #committer: Committer
  readonly #keyspace: Keyspace
  readonly #cache: SegmentCache
  readonly #indexes = new Map<number, IndexPayloads>()

  /** @param cacheBytes bytes of payloads to keep in memory */
  constructor(committer: Committer, keyspace: Keyspace, cacheBytes: number) {
    this.#committer = committer
    this.#keyspace = keyspace
    this.#cache = new SegmentCache(cacheBytes)
  }

  /** Takes up the payloads of an index. */
  open(index: number): void {
    const segments = [...this.#keyspace.getKeys(keysOfIndex(index))].map(parseSegmentKey)
    this.#indexes.set(index, { segments, nextRow: rowAfter(segments) })
  }

  /** Takes back the rows that were given away and did not become durable. */
  rollBack(): void {
    for (const payloads of this.#indexes.values()) payloads.nextRow = rowAfter(payloads.segments)
  }

  /** Takes no more payloads of an index. */
  close(index: number): void {
    for (const segment of this.#indexes.get(index)?.segments ?? []) this.#cache.remove(segment)
    this.#indexes.delete(index)
  }

  /** Removes the payloads of an index that was closed. */
  async remove(index: number): Promise<void> {
    await this.#committer.removeIndex(this.#keyspace, index)
  }

  /** The row that the next payload gets. */
  nextRow(index: number): number {
    return this.#of(index).nextRow
  }

  /** Bytes of payloads that are on disk, and segments that they lie in. */
  stats(index: number): PayloadStats {
    const { segments, nextRow } = this.#of(index)
    return {
      rows: nextRow,
      heldRows: segments.reduce((sum, { count }) => sum + count, 0),
      bytes: segments.reduce((sum, { payloadBytes }) => sum + payloadBytes, 0),
      segments: segments.length,
    }
  }

  /** The rows that segments hold now. */
  heldRows(index: number): HeldRows {
    return new HeldRows(this.#of(index).segments)
  }

  /** Bytes of payloads in memory, of all indexes. */
  get cachedBytes(): number {
    return this.#cache.bytes
  }

  /** The segments that a batch's payloads make, with the changes that store them. */
  cut(index: number, payloads: PayloadSegment): NewSegment[] {
    const { nextRow } = this.#of(index)
    if (payloads.firstRow !== nextRow) {
      throw new WarpdexError('INTERNAL', `the next row is ${nextRow}, not ${payloads.firstRow}`)
    }
    return cutSegments(this.#keyspace, index, payloads)
  }

  /** Gives the rows of segments away. */
  reserve(index: number, added: readonly NewSegment[]): void {
    const payloads = this.#of(index)
    for (const { segment } of added) payloads.nextRow += segment.count
  }

  /** Makes segments readable that have become durable. */
  add(index: number, added: readonly NewSegment[]): void {
    const segments = this.#indexes.get(index)?.segments
    for (const { segment } of added) segments?.push(segment)
  }

  /**
   * Collects the payloads of many rows.
   *
   * @throws WarpdexError `DAMAGED_FILE` when a row does not exist or its segment is damaged
   */
  gather(index: number, request: GatherRequest): Promise<GatheredPayloads> {
    const source = {
      segments: this.#of(index).segments,
      heldBytes: this.#cache.capacity,
      load: (segment: Segment) => this.#load(index, segment),
      describe: (row: number) => `row ${row} of index ${index}`,
    }
    return gather(source, request)
  }

  /**
   * Merges runs of small neighbouring segments, as single writes leave them, in transactions of bounded size. Called for one
   * index at a time; reads and writes may go on.
   *
   * @param isLive tells rows whose payloads may go, because no entry refers to them any more and none ever will
   * @param stop ends it after the transaction that is under way, once it is aborted
   */
  compact(index: number, isLive?: RowFilter, stop?: AbortSignal): Promise<void> {
    return compact(
      {
        segments: () => this.#indexes.get(index)?.segments ?? [],
        load: (segment) => segment.body ?? this.#read(index, segment),
        create: (firstRow, body) => newSegment(this.#keyspace, index, firstRow, body),
        replace: (step) => this.#replace(index, step),
      },
      isLive,
      stop,
    )
  }

  async #replace(index: number, { from, to, result, replaced, created }: CompactionStep): Promise<void> {
    const payloads = this.#of(index)
    // A gather that began with the old list finds the payloads in its segments when they are gone from disk.
    for (const [segment, body] of replaced) {
      this.#cache.remove(segment)
      segment.body = body
    }
    const removals = replaced.map(([segment]) => ({
      keyspace: this.#keyspace,
      key: segmentKey(index, segment),
    }))
    try {
      await this.#committer.commit([...removals, ...created.map(({ change }) => change)])
    } catch (error) {
      for (const [segment] of replaced) segment.body = undefined
      throw error
    }
    const { segments } = payloads
    payloads.segments = [...segments.slice(0, from), ...result, ...segments.slice(to)]
  }

  #of(index: number): IndexPayloads {
    const payloads = this.#indexes.get(index)
    if (payloads === undefined) throw new WarpdexError('UNKNOWN_INDEX', `there is no index with id ${index}`)
    return payloads
  }

  #load(index: number, segment: Segment): SegmentBody {
    if (segment.body !== undefined) {
      this.#cache.touch(segment)
      return segment.body
    }
    const body = this.#read(index, segment)
    this.#cache.add(segment, body)
    return body
  }

  #read(index: number, segment: Segment): SegmentBody {
    const key = segmentKey(index, segment)
    const value = this.#keyspace.getBinary(key)
    const what = `the payload segment of index ${index} from row ${segment.firstRow}`
    if (value === undefined) throw damaged(`${what} is missing`)
    return decodeSegment(key, value, what)
  }
}

/** Compaction keeps the last segment, dead or not, so that this is so. */
function rowAfter(segments: readonly Segment[]): number {
  const last = segments.at(-1)
  return last === undefined ? 0 : last.firstRow + last.count
}
