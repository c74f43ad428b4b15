import type { IndexStructure, StructureImage } from '../../gpu/index-structure.js'
import type { SnapshotInfo as StoredSnapshot } from '../../persistence/snapshots.js'
import type { Store } from '../../persistence/store.js'
import type { SnapshotInfo } from '../../protocol/messages.js'

/** Runs a task when everything that was asked of the index before is done, with no write beside it. */
export type InTurn = <T>(
  task: (structure: Pick<IndexStructure, 'image' | 'scan' | 'shape' | 'stats'>) => Promise<T>,
) => Promise<T>

/** At the end of a run a snapshot is worth its time from this share on of the log bytes that call for one during it. */
const WORTHWHILE_SHARE = 1 / 16

/** The snapshots of one index: when they are due, and that they are taken one at a time. */
export class IndexSnapshots {
  readonly #store: Store
  readonly #index: number
  readonly #dueBytes: number
  /** Bytes of log that would have to be replayed. */
  #logBytes = 0
  /** Bytes of log at which the next one is due. */
  #nextDue: number
  /** Whether one was asked for and is not done. */
  #asked = false
  #taking: Promise<void> = Promise.resolve()
  #writing: Promise<void> = Promise.resolve()

  readonly #onWritten: () => void

  /**
   * @param dueBytes bytes of log after which a snapshot is due
   * @param onWritten told of each one that was written
   */
  constructor(store: Store, index: number, dueBytes: number, onWritten: () => void = () => {}) {
    this.#store = store
    this.#index = index
    this.#dueBytes = dueBytes
    this.#nextDue = dueBytes
    this.#onWritten = onWritten
  }

  /** Counts bytes of log that were written or replayed. */
  logged(bytes: number): void {
    this.#logBytes += bytes
  }

  /** Whether to take one in the background now. */
  get due(): boolean {
    return this.#logBytes >= this.#nextDue && !this.#asked
  }

  /** Whether to take one before the end. */
  get worthwhile(): boolean {
    return this.#logBytes >= this.#dueBytes * WORTHWHILE_SHARE
  }

  /** The newest one that is sound. */
  get newest(): StoredSnapshot | undefined {
    return this.#store.snapshots.list(this.#index).find(({ damaged }) => damaged !== true)
  }

  /** Takes a snapshot of all that was written before the call, or finds that there is one, and trims the log. */
  take(inTurn: InTurn): Promise<Omit<SnapshotInfo, 'index'>> {
    this.#asked = true
    const taken = this.#taking.then(() => this.#take(inTurn))
    this.#taking = settled(taken)
    return taken
  }

  /** Waits until none is being taken. */
  idle(): Promise<void> {
    return this.#taking
  }

  /** Waits for the one whose image is made. One that waits for its turn is not waited for. */
  written(): Promise<void> {
    return this.#writing
  }

  async #take(inTurn: InTurn): Promise<StoredSnapshot> {
    try {
      // Writing begins within the turn and goes on after it, so that whoever comes next can wait for `written`.
      const { stored } = await inTurn(async (structure) => {
        const { newest } = this
        if (newest?.position === this.#store.log.last(this.#index)) return { stored: Promise.resolve(newest) }
        const stored = this.#write(await structure.image())
        this.#writing = settled(stored)
        return { stored }
      })
      const taken = await stored
      this.#nextDue = this.#dueBytes
      return taken
    } catch (error) {
      // A full disk is not written to again with every batch.
      this.#nextDue = this.#logBytes + this.#dueBytes
      throw error
    } finally {
      this.#asked = false
    }
  }

  async #write(image: StructureImage): Promise<StoredSnapshot> {
    const replayed = this.#logBytes
    const { snapshots, log } = this.#store
    const stored = await snapshots
      .write(this.#index, log.last(this.#index), image.meta, image.parts)
      .finally(() => image.release())
    this.#logBytes -= replayed
    this.#onWritten()
    await snapshots.trimLog(this.#index)
    return stored
  }
}

function settled(promise: Promise<unknown>): Promise<void> {
  return promise.then(
    () => {},
    () => {},
  )
}
