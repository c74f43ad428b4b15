import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { type Change, type Committer, type Keyspace, valueBytes } from '../disk/committer.js'
import { keysOfIndex, numberedKey, numberOf } from '../disk/keys.js'
import { damaged } from '../disk/record.js'
import type { PayloadStore } from '../payloads/payload-store.js'
import { decodeAppend, decodeBatch, encodeAppend, encodeBatch } from './log-records.js'
import { SpareBuffers } from './spare-buffers.js'
import type { AppendEntry, AppendRecord, LogEntry, LogPosition, LogRecord, WriteLog } from './write-log.js'
import { checkOutcome, type WriteOutcome, type WriteOutcomes } from './write-outcomes.js'

/** Records that one transaction removes. */
const REMOVALS = 4096

/** A record as it is stored, and how messages name it. */
interface StoredValue {
  readonly key: Buffer
  readonly value: Buffer
  readonly what: string
  readonly position: number
}

interface Positions {
  first: number
  /** The last position that is durable. */
  last: number
  /** The last position that has been given out. */
  reserved: number
}

/** The write log in LMDB: one entry a batch, under index id and position. */
export class LmdbLog implements WriteLog {
  readonly #committer: Committer
  readonly #keyspace: Keyspace
  readonly #payloads: PayloadStore
  readonly #outcomes: WriteOutcomes
  readonly #positions = new Map<number, Positions>()
  /** One that is being written to the disk, and one that is being filled. */
  readonly #buffers = new SpareBuffers(2)

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
    })
  }

  /** Takes back the positions that were given out and did not become durable. */
  rollBack(): void {
    for (const positions of this.#positions.values()) positions.reserved = positions.last
  }

  /** Takes no more records of an index. */
  close(index: number): void {
    this.#positions.delete(index)
  }

  /** Removes the log of an index that was closed. */
  async remove(index: number): Promise<void> {
    await this.#committer.removeIndex(this.#keyspace, index)
  }

  async append(index: number, record: LogRecord | AppendRecord): Promise<LogPosition> {
    const positions = this.#of(index)
    this.#committer.requireOpen()
    const { outcomes = [] } = record
    const position = positions.reserved + 1
    const key = numberedKey(index, position)
    const take = (bytes: number) => this.#buffers.take(bytes)
    const isAppend = 'batch' in record
    const value = isAppend ? encodeAppend(key, record.batch, take) : encodeBatch(key, record, take)
    const segment = isAppend ? undefined : record.segment
    const segments = segment === undefined ? [] : this.#payloads.cut(index, segment)
    const changes: Change[] = [
      { keyspace: this.#keyspace, key, value },
      ...segments.map(({ change }) => change),
    ]
    outcomes.forEach(checkOutcome)
    checkSize(changes, outcomes)
    // From here on nothing may go wrong but the disk, after whose failure all of this is taken back.
    positions.reserved = position
    this.#payloads.reserve(index, segments)
    for (const outcome of outcomes) changes.push(...this.#outcomes.add(index, position, outcome))
    await this.#committer.commit(changes, () => {
      positions.last = position
      this.#payloads.add(index, segments)
    })
    this.#buffers.give(value)
    return { position, bytes: value.length }
  }

  async *read(index: number, after: number): AsyncGenerator<LogEntry> {
    for (const { key, value, what, position } of this.#values(index, after)) {
      yield { ...decodeBatch(key, value, what), position, bytes: value.length }
    }
  }

  async *readAppends(relation: number, after: number): AsyncGenerator<AppendEntry> {
    for (const { key, value, what, position } of this.#values(relation, after)) {
      yield { batch: decodeAppend(key, value, what), position, bytes: value.length }
    }
  }

  *#values(index: number, after: number): Generator<StoredValue> {
    const { first, last } = this.#of(index)
    if (after < last && after + 1 < first) {
      throw damaged(`the log of index ${index} begins at position ${first}; position ${after + 1} is missing`)
    }
    for (let position = after + 1; position <= last; position++) {
      const key = numberedKey(index, position)
      const value = this.#keyspace.getBinary(key)
      const what = `the log record of index ${index} at position ${position}`
      if (value === undefined) throw damaged(`${what} is missing`)
      yield { key, value, what, position }
    }
  }

  async trim(index: number, through: number): Promise<void> {
    const positions = this.#of(index)
    const limit = Math.min(through, positions.last - 1)
    while (positions.first <= limit) {
      const next = Math.min(positions.first + REMOVALS, limit + 1)
      const keys = Array.from({ length: next - positions.first }, (_, i) =>
        numberedKey(index, positions.first + i),
      )
      await this.#committer.commit(keys.map((key) => ({ keyspace: this.#keyspace, key })))
      positions.first = next
    }
  }

  first(index: number): number {
    return this.#of(index).first
  }

  last(index: number): number {
    return this.#of(index).last
  }

  #of(index: number): Positions {
    const positions = this.#positions.get(index)
    if (positions === undefined) throw new WarpdexError('UNKNOWN_INDEX', `there is no index with id ${index}`)
    return positions
  }
}

function checkSize(changes: readonly Change[], outcomes: readonly WriteOutcome[]): void {
  const bytes = outcomes.reduce((sum, { codes }) => sum + (codes?.length ?? 0), valueBytes(changes))
  if (bytes > LIMITS.transactionBytes) {
    throw new WarpdexError(
      'TOO_LARGE',
      `a write of ${bytes} bytes does not fit in one transaction of at most ${LIMITS.transactionBytes}; send smaller batches`,
    )
  }
}
