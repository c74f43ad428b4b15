import { setImmediate } from 'node:timers/promises'
import type { IndexShape } from '../../gpu/index-structure.js'
import type { StoredIndex } from '../../persistence/disk/dictionary.js'
import type { LoggedRange } from '../../persistence/log/log-records.js'
import type { AnyRecord } from '../../persistence/log/write-log.js'
import type { Answer, WriteOutcome } from '../../persistence/log/write-outcomes.js'
import type { Store } from '../../persistence/store.js'
import { columnBytes, countOf } from '../../protocol/columns.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { LoadCounts } from '../../protocol/load.js'
import { ResultCode } from '../../protocol/types.js'
import { uniformCode } from '../../protocol/uniform-code.js'
import type { DueEntries } from './due-entries.js'
import type { IndexWrite, LoadPart, WriteId } from './index-requests.js'
import { answerWrites, type IdentifiedWrite, nameOf, rememberedOutcome, unsound } from './write-identity.js'
import { type ReadyWrite, type WritableStructure, WritePreparer } from './write-preparer.js'

export interface PendingWrite extends IdentifiedWrite {
  readonly columns: IndexWrite
  /** Only for a part of a bulk load, which is answered by counts; it goes together with others only. */
  readonly load?: LoadPart | undefined
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
  /** Makes one batch of writes, for this writer and for batches over several indexes. */
  readonly preparer: WritePreparer
  readonly #store: Store
  readonly #index: StoredIndex
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
    this.preparer = new WritePreparer(store, index, shape, due)
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
    const ready = await this.preparer.prepare(
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

  async #log(record: AnyRecord, writes: number): Promise<void> {
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
    await this.#log({ range, outcomes, expiry }, 1)
  }

  /** Has the removal of all that expires until some time logged, for a replica set. */
  logRemoval(due: number): Promise<void> {
    return this.#log({ due }, 1)
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
