import type { IndexStructure } from '../../gpu/index-structure.js'
import type { SnapshotParts } from '../../persistence/snapshots/snapshot-file.js'
import type { SnapshotInfo as StoredSnapshot } from '../../persistence/snapshots/snapshots.js'
import type { Store } from '../../persistence/store.js'
import { LIMITS } from '../../protocol/limits.js'
import type { SnapshotFigures } from '../../protocol/replies.js'

/** What a snapshot holds. */
export interface SnapshotContent {
  readonly meta: unknown
  readonly parts: SnapshotParts
  /** Gives its memory back, written or not. */
  release(): void
}

/** What has snapshots. */
export interface Snapshotted {
  /** What it holds as of the last applied write; later writes do not change it. */
  snapshot(): Promise<SnapshotContent>
}

/** Runs a task when everything that was asked of the index, or relation, before is done, with no write beside it. */
export type InTurn<S = Pick<IndexStructure, 'read' | 'shape' | 'stats'> & Snapshotted> = <T>(
  task: (structure: S) => Promise<T>,
) => Promise<T>

/** At the end of a run a snapshot is worth its time from this share on of the log bytes that call for one during it. */
const WORTHWHILE_SHARE = 1 / 16

/** Of the bytes of the last snapshot. */
const IMAGE_SHARE = 1 / 2

/** The snapshots of one index or relation: when they are due, and that they are taken one at a time. */
export class IndexSnapshots {
  readonly #store: Store
  readonly #index: number
  readonly #dueBytes: number
  /** Bytes of log that would have to be replayed. */
  #logBytes = 0
  /** Bytes of log before which none is tried. */
  #nextTry: number
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
    this.#nextTry = dueBytes
    this.#onWritten = onWritten
  }

  /** Bytes of log after the newest one, as they were found when it was loaded. */
  replayed(bytes: number): void {
    this.#logBytes = bytes
  }

  /** Counts bytes of log that were written. */
  logged(bytes: number): void {
    this.#logBytes += bytes
  }

  /**
   * Whether to take one in the background, when that disturbs nobody. One writes the whole index, so the log must have grown by a share of
   * that: then disk and processor have no more to do for snapshots than a few times what they have for the log, however large the index is.
   */
  get due(): boolean {
    return !this.#asked && this.#logBytes >= this.#nextTry && this.#logBytes >= this.#enoughLog
  }

  /** Whether one is due, and the log too long to wait any more. */
  get pressing(): boolean {
    return this.due && this.#logBytes >= LIMITS.snapshotLogTimes * this.#enoughLog
  }

  /** Bytes of log that are worth a snapshot. */
  get #enoughLog(): number {
    return Math.max(this.#dueBytes, IMAGE_SHARE * (this.newest?.bytes ?? 0))
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
  take(inTurn: InTurn<Snapshotted>): Promise<SnapshotFigures> {
    this.#asked = true
    const taken = this.#taking.then(() => this.#take(inTurn))
    this.#taking = settled(taken)
    return taken
  }

  /** Waits until none is being taken. */
  idle(): Promise<void> {
    return this.#taking
  }

  /** Waits for the one whose content is copied. One that waits for its turn is not waited for. */
  written(): Promise<void> {
    return this.#writing
  }

  async #take(inTurn: InTurn<Snapshotted>): Promise<StoredSnapshot> {
    try {
      // Writing begins within the turn and goes on after it, so that whoever comes next can wait for `written`.
      const { stored } = await inTurn(async (structure) => {
        const { newest } = this
        if (newest?.position === this.#store.log.last(this.#index)) return { stored: Promise.resolve(newest) }
        const stored = this.#write(await structure.snapshot())
        this.#writing = settled(stored)
        return { stored }
      })
      const taken = await stored
      this.#nextTry = this.#dueBytes
      return taken
    } catch (error) {
      // A full disk is not written to again with every batch.
      this.#nextTry = this.#logBytes + this.#dueBytes
      throw error
    } finally {
      this.#asked = false
    }
  }

  async #write({ meta, parts, release }: SnapshotContent): Promise<StoredSnapshot> {
    const replayed = this.#logBytes
    const { snapshots, log } = this.#store
    const stored = await snapshots.write(this.#index, log.last(this.#index), meta, parts).finally(release)
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
