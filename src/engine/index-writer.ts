import { setImmediate } from 'node:timers/promises'
import { shownBytes } from '../../gpu/index/layout.js'
import type { IndexShape, IndexStructure, PreparedWrite, WriteBatch } from '../../gpu/index-structure.js'
import { checksumInPieces, checksumOfAll } from '../../persistence/disk/checksums.js'
import type { StoredIndex } from '../../persistence/disk/dictionary.js'
import type { LoggedExpiry, LoggedRange, LogRecord } from '../../persistence/log/log-records.js'
import { JoinedMemory } from '../../persistence/log/spare-buffers.js'
import type { Answer, WriteOutcome } from '../../persistence/log/write-outcomes.js'
import type { Store } from '../../persistence/store.js'
import {
  aligned,
  blankColumn,
  type Column,
  type CutColumn,
  columnBytes,
  countOf,
} from '../../protocol/columns.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { LoadCounts } from '../../protocol/load.js'
import type { WriteColumns } from '../../protocol/request-columns.js'
import { ResultCode } from '../../protocol/types.js'
import { uniformCode } from '../../protocol/uniform-code.js'
import { hashPayloads } from './content-hash.js'
import type { DueEntries } from './due-entries.js'
import type { IndexWrite, LoadPart, WriteId } from './index-requests.js'
import {
  changedItems,
  changedPayloads,
  joinBatches,
  joinPayloads,
  numberRows,
  timedPayloads,
} from './write-batch.js'
import { answerWrites, type IdentifiedWrite, nameOf, rememberedOutcome, unsound } from './write-identity.js'

export interface PendingWrite extends IdentifiedWrite {
  readonly columns: IndexWrite
  /** Only for a part of a bulk load, which is answered by counts; it goes together with others only. */
  readonly load?: LoadPart | undefined
}

/** What a writer needs of a structure. */
type WritableStructure = Pick<IndexStructure, 'prepare'>

/** A write as the device takes it, and the payloads that it leaves on the host. */
interface DeviceWrite {
  readonly batch: WriteBatch
  readonly hosted: CutColumn | undefined
}

/** Writes of which all is known: what is left is to log and apply them, or to discard them. */
export interface ReadyWrite {
  readonly record: LogRecord
  /** A ResultCode for each item. */
  readonly codes: Uint8Array
  /** Items of each write. */
  readonly counts: readonly number[]
  /** To be called once it is logged. @returns whether the structure holds it; if not, it must be rebuilt */
  apply(): boolean
  discard(): void
}

/** Told of the bytes of each log record, of how many writes are in it, and how long it took until it was synced. */
type OnLogged = (bytes: number, writes: number, milliseconds: number) => void

/** What is known of the writes around a batch. */
interface Pace {
  /** Resolves when more writes wait behind them. */
  readonly arrival: Promise<void>
  /** Whether they are some of many in a row, so that what is of use after the last one only is left until then. */
  readonly goesOn: boolean
}

/** A batch on its way to the disk that is applied already. */
interface Syncing {
  readonly ids: ReadonlySet<string>
  /** Resolves when its writers are answered. */
  readonly done: Promise<void>
}

/**
 * How writes of one index become durable and visible, in this order: prepared, logged, applied, acknowledged.
 *
 * Parts of bulk loads, and writes behind which others wait, are applied while they are being logged, so that the device works
 * on one batch while the disk takes the one before. Nobody may read the structure then: `settled` tells when it is durable again,
 * and whether it is sound.
 */
export class IndexWriter {
  readonly #store: Store
  readonly #index: StoredIndex
  readonly #shape: IndexShape
  readonly #onLogged: OnLogged
  /** Only of an index whose entries expire. */
  readonly #due: DueEntries | undefined
  #syncing: Syncing | undefined
  /** Whether the structure holds what could not be logged. */
  #ahead = false
  /** Whether the last record could not be logged: until one can, nothing is applied before, since each time would be a rebuild. */
  #logFails = false

  constructor(store: Store, index: StoredIndex, shape: IndexShape, onLogged: OnLogged, due?: DueEntries) {
    this.#store = store
    this.#index = index
    this.#shape = shape
    this.#onLogged = onLogged
    this.#due = due
  }

  /**
   * As `answerWrites`, but for those that are being logged still; `settled` waits for these.
   *
   * @param pace what is known of the writes around them
   * @returns whether the structure holds what the log holds; if not, it must be rebuilt
   */
  async run(structure: WritableStructure, writes: readonly PendingWrite[], pace: Pace): Promise<boolean> {
    // What becomes of a write that is being synced is not known yet.
    if (writes.some(({ id }) => id !== undefined && this.#syncing?.ids.has(nameOf(id)))) await this.#synced()
    const remembered = (write: PendingWrite, before: ReadonlySet<string>) => {
      const kind = write.load === undefined ? 'codes' : 'counts'
      const answer = rememberedOutcome(this.#store, this.#index.id, write.id, kind)
      if (answer === undefined) this.#requireBefore(write, before)
      return answer
    }
    const together = async (fresh: readonly PendingWrite[]) => {
      try {
        return await this.#writeTogether(structure, fresh, pace)
      } catch (thrown) {
        if (!this.#ahead) throw thrown
        for (const { reject } of fresh) reject(toWarpdexError(thrown))
        return false
      }
    }
    return answerWrites(writes, remembered, together, (some) => this.run(structure, some, pace))
  }

  /** Waits until all that was run is answered; whether the structure holds what the log holds. */
  async settled(): Promise<boolean> {
    await this.#synced()
    const sound = !this.#ahead
    this.#ahead = false
    return sound
  }

  async #synced(): Promise<void> {
    await this.#syncing?.done
    this.#syncing = undefined
  }

  /** The parts of a load that are stored are its first ones, whatever goes wrong with one of them. */
  #requireBefore({ id, load }: PendingWrite, ids: ReadonlySet<string>): void {
    const number = load?.after
    const isNext =
      number === undefined ||
      id === undefined ||
      ids.has(nameOf({ client: id.client, number })) ||
      this.#store.outcomes.has(id.client, number)
    if (isNext && load?.course?.failed !== true) return
    throw new WarpdexError('CANCELLED', 'a part of the load before this one is not stored')
  }

  async #writeTogether(
    structure: WritableStructure,
    writes: readonly PendingWrite[],
    { arrival, goesOn }: Pace,
  ): Promise<boolean> {
    const ready = await this.prepare(
      structure,
      writes.map(({ columns }) => columns),
      goesOn,
    )
    const answers = answersOf(ready, writes)
    try {
      if (this.#ahead) throw unsound()
      const record = { ...ready.record, outcomes: outcomesOf(writes, answers) }
      const logging = this.#log(record, writes.length)
      const isLoad = writes[0].load !== undefined
      if (!this.#logFails && (isLoad || (await isOvertaken(logging, arrival))))
        return this.#applyAhead(ready, logging, writes, answers)
      await logging
    } catch (error) {
      ready.discard()
      throw error
    }
    const sound = ready.apply()
    answerAll(writes, answers)
    return sound
  }

  /**
   * Has the device settle what becomes of writes, one after the other, and makes one record of them; nothing has changed then.
   * @param goesOn whether they are some of many in a row
   */
  async prepare(
    structure: WritableStructure,
    writes: readonly IndexWrite[],
    goesOn: boolean,
  ): Promise<ReadyWrite> {
    const parts = writes.map((columns) => this.#deviceWrite(columns))
    const counts = parts.map(({ batch }) => countOf(batch.keys))
    const memory = new JoinedMemory()
    const joined = joinBatches(
      parts.map((part) => part.batch),
      (bytes) => memory.take(bytes),
    )
    const hosted = joinPayloads(
      parts.map((part) => part.hosted),
      counts,
    )
    const firstRow = hosted === undefined ? 0 : this.#store.payloads.nextRow(this.#index.id)
    if (hosted !== undefined && joined.payloads !== undefined)
      numberRows(aligned(joined.payloads.bytes, Uint32Array), firstRow)
    const batch = this.#timed(joined, writes, counts, memory)
    // Not part of the record: a replay finds keys as it thinks best.
    const { traversal } = writes[0]
    const preparing = structure.prepare({ ...batch, traversal, goesOn })
    // While the device works; the record needs them next.
    const [prepared, columns] = await Promise.all([preparing, withChecksums(batch, parts)])
    const { codes } = prepared
    try {
      // Also the payloads by which entries were deleted: whoever reads the log must be told which these were.
      const changed = changedItems(codes)
      const stored = hosted?.offsets && changedPayloads(hosted, changed)
      return {
        record: {
          ...columns,
          changed,
          segment: stored && { firstRow, ...stored },
          expiry: this.#loggedExpiry(writes),
        },
        codes,
        counts,
        apply: () => applyLogged(prepared, memory),
        discard: () => prepared.discard(),
      }
    } catch (error) {
      prepared.discard()
      throw error
    }
  }

  async #applyAhead(
    ready: ReadyWrite,
    logging: Promise<void>,
    writes: readonly PendingWrite[],
    answers: readonly Answer[],
  ): Promise<boolean> {
    const before = this.#syncing
    this.#syncing = { ids: idsOf(writes), done: this.#answerLogged(logging, writes, answers) }
    const sound = ready.apply()
    // One batch is on its way to the disk, and one waits for it; those that come meanwhile gather in the queue.
    await before?.done
    // The store hands a commit over in the next turn of the event loop. What follows here would hold that up.
    await setImmediate()
    return sound && !this.#ahead
  }

  async #log(record: LogRecord, writes: number): Promise<void> {
    const since = performance.now()
    try {
      const { bytes } = await this.#store.log.append(this.#index.id, record)
      this.#logFails = false
      this.#onLogged(bytes, writes, performance.now() - since)
    } catch (error) {
      this.#logFails = true
      throw error
    }
  }

  /** Has the deletion of a range logged, and how many entries go by it. */
  async logRange(range: LoggedRange, id: WriteId | undefined, deleted: number): Promise<void> {
    const outcomes = id === undefined ? [] : [{ client: id.client, write: id.number, deleted }]
    const expiry = this.#due && { through: this.#due.through }
    const since = performance.now()
    const { bytes } = await this.#store.log.append(this.#index.id, { range, outcomes, expiry })
    this.#onLogged(bytes, 1, performance.now() - since)
  }

  async #answerLogged(
    logging: Promise<void>,
    writes: readonly PendingWrite[],
    answers: readonly Answer[],
  ): Promise<void> {
    try {
      await logging
      answerAll(writes, answers)
    } catch (thrown) {
      this.#ahead = true
      for (const { reject } of writes) reject(toWarpdexError(thrown))
    }
  }

  /** A batch as structures take it whose payloads expire. */
  #timed(
    batch: WriteBatch,
    writes: readonly IndexWrite[],
    counts: readonly number[],
    memory: JoinedMemory,
  ): WriteBatch {
    const { payloads } = batch
    if (this.#due === undefined || payloads === undefined) return batch
    const times = writes.map(({ expireAt }) => expireAt?.times)
    return { ...batch, payloads: timedPayloads(payloads, counts, times, (bytes) => memory.take(bytes)) }
  }

  /** What the log is to say of when entries expire; the index takes note of it. */
  #loggedExpiry(writes: readonly IndexWrite[]): LoggedExpiry | undefined {
    if (this.#due === undefined) return undefined
    const { through } = this.#due
    const first = Math.min(...writes.map(({ expireAt }) => expireAt?.first ?? Number.POSITIVE_INFINITY))
    if (first === Number.POSITIVE_INFINITY) return { through }
    this.#due.add(first)
    return { through, first }
  }

  #deviceWrite({ ops, keys, payloads }: IndexWrite): DeviceWrite {
    if (payloads?.offsets === undefined) {
      // Payloads with times are others than those that came, and so are their checksums.
      const own = this.#due && payloads ? { ...payloads, checksum: undefined } : payloads
      return { batch: { ops, keys, payloads: own }, hosted: undefined }
    }
    const rows = blankColumn(countOf(keys), shownBytes(this.#shape))
    hashPayloads(payloads, this.#index.seed, aligned(rows.bytes, Uint32Array))
    return { batch: { ops, keys, payloads: rows }, hosted: payloads }
  }
}

/** A batch that is made of parts with the checksums of its columns. A part that lacks a column, which is filled up with zeros then, has none of it. */
async function withChecksums(batch: WriteBatch, parts: readonly DeviceWrite[]): Promise<WriteColumns> {
  const withChecksum = async (column: Column, name: 'keys' | 'payloads') => {
    const known = checksumOfAll(parts.map((part) => part.batch[name]))
    return { ...column, checksum: known ?? (await checksumInPieces(column.bytes)) }
  }
  const { ops, keys, payloads } = batch
  return {
    ops,
    keys: await withChecksum(keys, 'keys'),
    payloads: payloads && (await withChecksum(payloads, 'payloads')),
  }
}

/** The share that a write takes of a group of them. One that names a traversal, or is a chunk already, goes alone. */
export function weigh({ columns, load }: PendingWrite, shape: IndexShape): number {
  const { keys, payloads, traversal } = columns
  if (traversal !== undefined || load?.course !== undefined) return Number.POSITIVE_INFINITY
  const items = countOf(keys)
  const bytes = columnBytes(keys) + items * shape.payloadBytes + (payloads?.bytes.byteLength ?? 0)
  if (load !== undefined) return Math.max(items / LIMITS.loadItems, bytes / LIMITS.loadBytes)
  return Math.max(items / LIMITS.groupItems, bytes / LIMITS.groupBytes)
}

/** The answer of each write. */
function answersOf({ codes, counts }: ReadyWrite, writes: readonly PendingWrite[]): Answer[] {
  let end = 0
  return counts.map((count, i) => {
    end += count
    const own = codes.subarray(end - count, end)
    return writes[i].load === undefined ? { codes: own } : { counts: countCodes(own) }
  })
}

function outcomesOf(writes: readonly PendingWrite[], answers: readonly Answer[]): WriteOutcome[] {
  return writes.flatMap(({ id }, i) =>
    id === undefined ? [] : [{ ...answers[i], client: id.client, write: id.number }],
  )
}

function answerAll(writes: readonly PendingWrite[], answers: readonly Answer[]): void {
  writes.forEach(({ resolve }, i) => {
    resolve(answers[i])
  })
}

function idsOf(writes: readonly PendingWrite[]): ReadonlySet<string> {
  return new Set(writes.flatMap(({ id }) => (id === undefined ? [] : [nameOf(id)])))
}

/** Whether a request comes before a record is logged. */
function isOvertaken(logging: Promise<void>, arrival: Promise<void>): Promise<boolean> {
  return Promise.race([logging.then(() => false), arrival.then(() => true)])
}

/**
 * Once it is logged a batch counts, so that a failure here means a rebuild and not an error for its writers.
 * @param memory of its columns, which nobody looks at any more then; where anything fails it is left to the garbage collector
 */
function applyLogged(prepared: PreparedWrite, memory: JoinedMemory): boolean {
  try {
    prepared.apply()
    memory.release()
    return true
  } catch {
    return false
  }
}

/** How many rows of an insert became what. */
export function countCodes(codes: Uint8Array): LoadCounts {
  const counts = new Uint32Array(ResultCode.notANumber + 1)
  const uniform = uniformCode(codes)
  if (uniform !== undefined) counts[uniform] = codes.length
  else for (let i = 0; i < codes.length; i++) counts[codes[i]]++
  return {
    rows: codes.length,
    inserted: counts[ResultCode.inserted],
    replaced: counts[ResultCode.replaced],
    existing: counts[ResultCode.exists],
    refused: counts[ResultCode.notANumber],
  }
}
