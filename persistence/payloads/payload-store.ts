import { setImmediate } from 'node:timers/promises'
import type { CutColumn } from '../../protocol/columns.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import type { Committer, Keyspace } from '../disk/committer.js'
import { damaged, keysOfIndex } from '../disk/record.js'
import type { PayloadSegment } from '../log/log-records.js'
import { type CompactionStep, compact, type RowFilter } from './compaction.js'
import { type GatherRequest, gather, gatherWarm } from './gather.js'
import { HeldRows } from './held-rows.js'
import { PayloadArena, type SegmentTable } from './payload-arena.js'
import {
  cutSegments,
  decodeSegment,
  describeSegment,
  findSegment,
  type NewSegment,
  newSegment,
  parseSegmentKey,
  type Segment,
  type SegmentBody,
  segmentKey,
} from './segment.js'

interface IndexPayloads {
  /** In the order of their rows; replaced as a whole by compaction. */
  segments: Segment[]
  nextRow: number
  /** The segments as the arena knows them, once rows have been gathered. */
  table: SegmentTable | undefined
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
 * keeps a list in memory, and the payloads of as many as its arena holds.
 */
export class PayloadStore {
  readonly #committer: Committer
  readonly #keyspace: Keyspace
  readonly #arenaBytes: number
  readonly #onWarning: (message: string) => void
  /** Begun by the first gather; undefined where there is no memory for it. */
  #opening: Promise<PayloadArena | undefined> | undefined
  #arena: PayloadArena | undefined
  readonly #indexes = new Map<number, IndexPayloads>()

  /**
   * @param arenaBytes bytes of payloads to keep in memory
   * @param onWarning told, in words for people, when none can be kept
   */
  constructor(
    committer: Committer,
    keyspace: Keyspace,
    arenaBytes: number,
    onWarning: (message: string) => void,
  ) {
    this.#committer = committer
    this.#keyspace = keyspace
    this.#arenaBytes = arenaBytes
    this.#onWarning = onWarning
  }

  /** Takes up the payloads of an index. */
  open(index: number): void {
    const segments = [...this.#keyspace.getKeys(keysOfIndex(index))].map(parseSegmentKey)
    this.#indexes.set(index, { segments, nextRow: rowAfter(segments), table: undefined })
  }

  /** Takes back the rows that were given away and did not become durable. */
  rollBack(): void {
    for (const payloads of this.#indexes.values()) payloads.nextRow = rowAfter(payloads.segments)
  }

  /** Takes no more payloads of an index. */
  close(index: number): void {
    const payloads = this.#indexes.get(index)
    this.#indexes.delete(index)
    if (this.#arena === undefined || payloads?.table === undefined) return
    for (const segment of payloads.segments) this.#arena.remove(segment)
    this.#arena.dropTable(payloads.table)
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

  /** Whether a segment holds a row. */
  holds(index: number, row: number): boolean {
    const { segments } = this.#of(index)
    const segment = segments[findSegment(segments, row)]
    return segment !== undefined && row < segment.firstRow + segment.count
  }

  /** The rows that segments hold now. */
  heldRows(index: number): HeldRows {
    return new HeldRows(this.#of(index).segments)
  }

  /** Bytes of payloads in memory, of all indexes. */
  get cachedBytes(): number {
    return this.#arena?.bytes ?? 0
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

  /** Takes up a segment, as it was stored by another replica. */
  took(key: Buffer): void {
    const payloads = this.#of(key.readUInt32BE(0))
    const segment = parseSegmentKey(key)
    payloads.segments.push(segment)
    payloads.nextRow = segment.firstRow + segment.count
  }

  /**
   * Collects the payloads of many rows.
   *
   * @throws WarpdexError `DAMAGED_FILE` when a row does not exist or its segment is damaged
   */
  async gather(index: number, request: GatherRequest): Promise<CutColumn> {
    const payloads = this.#of(index)
    const { segments } = payloads
    const rows = `of index ${index}`
    this.#opening ??= this.#openArena()
    const arena = await this.#opening
    this.#arena = arena
    // What is replaced while the arena is made, or filled, is gathered from the segments of the call.
    const isCurrent = () => payloads.segments === segments && this.#indexes.get(index) === payloads
    const prefetch = (list: readonly Segment[]) => this.#prefetch(index, list)
    if (arena !== undefined && isCurrent()) {
      payloads.table ??= arena.createTable()
      const { table } = payloads
      const load = (segment: Segment) => this.#read(index, segment)
      const gathered = await gatherWarm({ arena, table, segments, prefetch, load, isCurrent }, request)
      if (gathered !== undefined) return gathered
    }
    return gather(
      {
        segments,
        heldBytes: this.#arenaBytes,
        prefetch,
        load: (segment) => this.#bodyOf(index, segment),
        describe: (row) => `row ${row} ${rows}`,
      },
      request,
    )
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
        load: (segment) => this.#bodyOf(index, segment),
        create: (firstRow, body) => newSegment(this.#keyspace, index, firstRow, body),
        replace: (step) => this.#replace(index, step),
      },
      isLive,
      stop,
    )
  }

  /** Without an arena payloads are gathered all the same, by reading their segments each time. */
  async #openArena(): Promise<PayloadArena | undefined> {
    try {
      return await PayloadArena.create(this.#arenaBytes)
    } catch (error) {
      this.#onWarning(
        `no payloads of kind bytes are kept in memory, so that each read of them goes to the data file: ${toWarpdexError(error).message}`,
      )
      return undefined
    }
  }

  async #replace(index: number, { from, to, result, replaced, created }: CompactionStep): Promise<void> {
    const payloads = this.#of(index)
    // A gather that began with the old list finds the payloads in its segments when they are gone from disk.
    for (const [segment, body] of replaced) {
      this.#arena?.remove(segment)
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
    if (payloads.table !== undefined) this.#arena?.restartTable(payloads.table)
  }

  #of(index: number): IndexPayloads {
    const payloads = this.#indexes.get(index)
    if (payloads === undefined) throw new WarpdexError('UNKNOWN_INDEX', `there is no index with id ${index}`)
    return payloads
  }

  #bodyOf(index: number, segment: Segment): SegmentBody {
    return segment.body ?? this.#arena?.body(segment) ?? this.#read(index, segment)
  }

  /** A thread of LMDB's touches the pages of segments: a read that waits for the disk would hold up all others in this one. */
  async #prefetch(index: number, segments: readonly Segment[]): Promise<void> {
    // What is held in memory is not on disk any more, and a store that is closed has no pages.
    const stored = segments.filter(({ body }) => body === undefined)
    if (this.#committer.closed) await setImmediate()
    else await this.#keyspace.prefetch(stored.map((segment) => segmentKey(index, segment)))
  }

  #read(index: number, segment: Segment): SegmentBody {
    if (this.#committer.closed) throw new WarpdexError('SHUTTING_DOWN', 'the store is closed')
    const key = segmentKey(index, segment)
    const value = this.#keyspace.getBinary(key)
    if (value === undefined) throw damaged(`${describeSegment(key)} is missing`)
    return decodeSegment(key, value)
  }
}

/** Compaction keeps the last segment, dead or not, so that this is so. */
function rowAfter(segments: readonly Segment[]): number {
  const last = segments.at(-1)
  return last === undefined ? 0 : last.firstRow + last.count
}
