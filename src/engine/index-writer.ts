import type { IndexShape, IndexStructure, PreparedWrite, WriteBatch } from '../../gpu/index-structure.js'
import type { StoredIndex } from '../../persistence/dictionary.js'
import type { Store } from '../../persistence/store.js'
import type { WriteOutcome } from '../../persistence/write-outcomes.js'
import { aligned } from '../../protocol/columns.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { rowCount } from '../../protocol/rows.js'
import { keyWidth } from '../../protocol/types.js'
import { hashPayloads } from './content-hash.js'
import type { Cancellation, IndexWrite, WriteId } from './index-requests.js'
import { type Blob, joinBatches, joinBlobs, numberRows, storedPayloads } from './write-batch.js'

export interface PendingWrite {
  readonly columns: IndexWrite
  readonly id: WriteId | undefined
  readonly cancellation: Cancellation | undefined
  readonly resolve: (codes: Uint8Array) => void
  readonly reject: (error: WarpdexError) => void
}

/** What a writer needs of a structure. */
type WritableStructure = Pick<IndexStructure, 'prepare'>

/** A write as the device takes it, and the bytes that it leaves on the host. */
interface DeviceWrite {
  readonly batch: WriteBatch
  readonly blob: Blob | undefined
  readonly count: number
}

/** How writes of one index become durable and visible, in this order: prepared, logged, applied, acknowledged. */
export class IndexWriter {
  readonly #store: Store
  readonly #index: StoredIndex
  readonly #shape: IndexShape
  readonly #onLogged: (bytes: number) => void

  /** @param onLogged is told of the bytes of each log record */
  constructor(store: Store, index: StoredIndex, shape: IndexShape, onLogged: (bytes: number) => void) {
    this.#store = store
    this.#index = index
    this.#shape = shape
    this.#onLogged = onLogged
  }

  /**
   * Answers all writes. They go together; where that fails, each goes alone, so that none fails for another's sake.
   *
   * @returns whether the structure holds what the log holds; if not, it must be rebuilt
   */
  async run(structure: WritableStructure, writes: readonly PendingWrite[]): Promise<boolean> {
    const { fresh, repeats } = this.#sort(writes)
    const sound = fresh.length === 0 || (await this.#runFresh(structure, fresh))
    if (sound) return repeats.length === 0 || this.run(structure, repeats)
    for (const { reject } of repeats) reject(unsound())
    return false
  }

  async #runFresh(structure: WritableStructure, writes: readonly PendingWrite[]): Promise<boolean> {
    try {
      return await this.#writeTogether(structure, writes)
    } catch (thrown) {
      if (writes.length === 1) {
        writes[0].reject(toWarpdexError(thrown))
        return true
      }
    }
    let sound = true
    for (const write of writes) {
      if (sound) sound = await this.run(structure, [write])
      else write.reject(unsound())
    }
    return sound
  }

  /** Answers what needs no work. Of writes with the same id the later ones are repeats, to be answered by the first's outcome. */
  #sort(writes: readonly PendingWrite[]): { fresh: PendingWrite[]; repeats: PendingWrite[] } {
    const fresh: PendingWrite[] = []
    const repeats: PendingWrite[] = []
    const ids = new Set<string>()
    for (const write of writes) {
      if (write.cancellation?.cancelled === true) {
        write.reject(new WarpdexError('CANCELLED', 'the write was cancelled before it began'))
        continue
      }
      try {
        const codes = this.#remembered(write.id)
        if (codes !== undefined) {
          write.resolve(codes)
          continue
        }
      } catch (thrown) {
        write.reject(toWarpdexError(thrown))
        continue
      }
      const id = write.id && `${write.id.number} ${write.id.client}`
      if (id !== undefined && ids.has(id)) repeats.push(write)
      else fresh.push(write)
      if (id !== undefined) ids.add(id)
    }
    return { fresh, repeats }
  }

  #remembered(id: WriteId | undefined): Uint8Array | undefined {
    const outcome = id && this.#store.outcome(id.client, id.number)
    if (outcome === undefined || outcome.index === this.#index.id) return outcome?.codes
    throw new WarpdexError('BAD_REQUEST', `write id ${id?.number} was used for a write to another index`)
  }

  async #writeTogether(structure: WritableStructure, writes: readonly PendingWrite[]): Promise<boolean> {
    const parts = writes.map(({ columns }) => this.#deviceWrite(columns))
    const { keyType, payloadBytes } = this.#shape
    const batch = joinBatches(
      parts.map((part) => part.batch),
      keyWidth(keyType),
      payloadBytes,
    )
    const firstRow = this.#store.payloads.nextRow(this.#index.id)
    const withBlob = parts.some(({ blob }) => blob !== undefined)
    if (withBlob && batch.payloads !== undefined) numberRows(aligned(batch.payloads, Uint32Array), firstRow)
    // Not part of the record: a replay finds keys as it thinks best.
    const { traversal } = writes[0].columns
    const prepared = await structure.prepare({ ...batch, traversal })
    const answers = split(prepared.codes, parts)
    try {
      const stored = withBlob ? storedPayloads(joinBlobs(parts), prepared.codes) : undefined
      const segment = stored && { firstRow, ...stored }
      const record = { ...batch, segment, outcomes: outcomesOf(writes, answers) }
      const { bytes } = await this.#store.log.append(this.#index.id, record)
      this.#onLogged(bytes)
    } catch (error) {
      prepared.discard()
      throw error
    }
    const sound = applyLogged(prepared)
    writes.forEach(({ resolve }, i) => {
      resolve(answers[i])
    })
    return sound
  }

  #deviceWrite({ ops, keys, keyOffsets, payloads }: IndexWrite): DeviceWrite {
    const count = rowCount({ bytes: keys, offsets: keyOffsets }, keyWidth(this.#shape.keyType))
    const items = { ops, keys, keyOffsets }
    if (payloads?.offsets === undefined) {
      return { batch: { ...items, payloads: payloads?.bytes }, blob: undefined, count }
    }
    const blob = { bytes: payloads.bytes, offsets: payloads.offsets }
    const rows = new Uint32Array(count * 4)
    hashPayloads(blob.bytes, blob.offsets, this.#index.seed, rows)
    return { batch: { ...items, payloads: new Uint8Array(rows.buffer) }, blob, count }
  }
}

/** The share that a write takes of a batch of them. One that names a traversal goes alone, since its batch has only one. */
export function weigh({ columns }: PendingWrite, shape: IndexShape): number {
  const { keys, keyOffsets, payloads, traversal } = columns
  if (traversal !== undefined) return Number.POSITIVE_INFINITY
  const items = rowCount({ bytes: keys, offsets: keyOffsets }, keyWidth(shape.keyType))
  const keyBytes = keys.byteLength + (keyOffsets?.byteLength ?? 0)
  const bytes = keyBytes + items * shape.payloadBytes + (payloads?.bytes.byteLength ?? 0)
  return Math.max(items / LIMITS.batchItems, bytes / LIMITS.frameBytes)
}

/** The result codes of each write. */
function split(codes: Uint8Array, parts: readonly DeviceWrite[]): Uint8Array[] {
  let end = 0
  return parts.map(({ count }) => {
    end += count
    return codes.subarray(end - count, end)
  })
}

function outcomesOf(writes: readonly PendingWrite[], answers: readonly Uint8Array[]): WriteOutcome[] {
  return writes.flatMap(({ id }, i) =>
    id === undefined ? [] : [{ client: id.client, write: id.number, codes: answers[i] }],
  )
}

/** Once it is logged a batch counts, so that a failure here means a rebuild and not an error for its writers. */
function applyLogged(prepared: PreparedWrite): boolean {
  try {
    prepared.apply()
    return true
  } catch {
    return false
  }
}

/** For writes that come to a structure which lacks a logged one: their outcomes would be wrong. */
function unsound(): WarpdexError {
  return new WarpdexError('DEVICE_LOST', 'the index must be rebuilt after an error of its device; try again')
}
