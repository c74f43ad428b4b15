import { shownBytes } from '../../gpu/index/layout.js'
import { timedPayloads } from '../../gpu/index/timed-payloads.js'
import type { IndexShape, IndexStructure, PreparedWrite, WriteBatch } from '../../gpu/index-structure.js'
import { checksumInPieces, checksumOfAll } from '../../persistence/disk/checksums.js'
import type { StoredIndex } from '../../persistence/disk/dictionary.js'
import type { LoggedExpiry, LogRecord } from '../../persistence/log/log-records.js'
import { JoinedMemory } from '../../persistence/log/spare-buffers.js'
import type { Store } from '../../persistence/store.js'
import { aligned, blankColumn, type Column, type CutColumn, countOf } from '../../protocol/columns.js'
import type { WriteColumns } from '../../protocol/request-columns.js'
import { hashPayloads } from './content-hash.js'
import type { DueEntries } from './due-entries.js'
import type { IndexWrite } from './index-requests.js'
import { changedItems, changedPayloads, joinBatches, joinPayloads, numberRows } from './write-batch.js'

/** What the preparation of writes needs of a structure. */
export type WritableStructure = Pick<IndexStructure, 'prepare'>

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

/** Makes one batch of writes to an index, as its log and its structure take it, and has the device settle what becomes of each. */
export class WritePreparer {
  readonly #store: Pick<Store, 'payloads'>
  readonly #index: StoredIndex
  readonly #shape: IndexShape
  /** Only of an index whose entries expire. */
  readonly #due: DueEntries | undefined

  constructor(store: Pick<Store, 'payloads'>, index: StoredIndex, shape: IndexShape, due?: DueEntries) {
    this.#store = store
    this.#index = index
    this.#shape = shape
    this.#due = due
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
