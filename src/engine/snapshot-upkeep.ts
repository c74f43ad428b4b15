import type { Store } from '../../persistence/store.js'
import { LIMITS } from '../../protocol/limits.js'
import type { SnapshotFigures } from '../../protocol/replies.js'
import { IndexSnapshots, type InTurn, type Snapshotted } from './index-snapshots.js'

export interface SnapshotUpkeepOptions {
  readonly store: Store
  /** The id of the index or relation. */
  readonly id: number
  /** Bytes of log after which a snapshot is due. */
  readonly snapshotLogBytes: number
  readonly inTurn: InTurn<Snapshotted>
  readonly warn: (what: string, thrown: unknown) => void
  /** Whether the index or relation is about to go; then what is left to do is left to its end, or to its next run. */
  readonly isGoing: () => boolean
  /** Told of every snapshot that was written. */
  readonly onSnapshot: () => void
}

/** How long no write must have come for a pause. */
const WRITE_PAUSE_MS = 250

/** The snapshots that an index or a relation takes beside its requests. */
export class SnapshotUpkeep {
  readonly snapshots: IndexSnapshots
  readonly #options: SnapshotUpkeepOptions
  #pause: NodeJS.Timeout | undefined
  /** When the one was found to be due that waits for a pause, by `performance.now()`. */
  #dueSince: number | undefined

  constructor(options: SnapshotUpkeepOptions) {
    const { store, id, snapshotLogBytes, onSnapshot } = options
    this.#options = options
    this.snapshots = new IndexSnapshots(store, id, snapshotLogBytes, onSnapshot)
  }

  /** Takes up the count of the log: so many bytes of it were replayed when the index or relation was loaded. */
  loaded(replayedBytes: number): void {
    this.snapshots.replayed(replayedBytes)
    this.takeIfDue()
  }

  /**
   * After a write: has one taken in the background, if one is due. It waits for a pause between writes, unless the log has become several
   * times as long as one is due for, or there has been none for minutes.
   */
  takeIfDue(): void {
    if (!this.snapshots.due) {
      this.#dueSince = undefined
      return
    }
    const now = performance.now()
    this.#dueSince ??= now
    const isLate = now - this.#dueSince >= LIMITS.snapshotWaitSeconds * 1000
    if (isLate || this.snapshots.pressing) void this.#takeInBackground()
    else this.takeInPause(WRITE_PAUSE_MS)
  }

  /** Has one taken in the background, if one is due, once no write has come for so long. */
  protected takeInPause(milliseconds: number): void {
    this.#endPause()
    this.#pause = setTimeout(() => void this.#takeInBackground(), milliseconds)
    this.#pause.unref()
  }

  takeSnapshot(): Promise<SnapshotFigures> {
    return this.snapshots.take(this.#options.inTurn)
  }

  /** Takes a snapshot if that is worthwhile, and waits until none is being taken. */
  async end(isLoaded: boolean): Promise<void> {
    this.#endPause()
    if (isLoaded && this.snapshots.worthwhile) await this.#try()
    await this.snapshots.idle()
  }

  /** Stops what must not go on without the structure. */
  async stop(): Promise<void> {
    this.#endPause()
    await this.snapshots.written()
  }

  protected takeDue(): Promise<void> {
    return this.#try()
  }

  async #takeInBackground(): Promise<void> {
    this.#endPause()
    this.#dueSince = undefined
    if (!this.#mayBeTaken) return
    await this.takeDue()
    // Writes may have come meanwhile, and be over.
    if (this.#mayBeTaken && this.#pause === undefined) this.takeInPause(WRITE_PAUSE_MS)
  }

  /** Of what is gone the store knows no snapshots any more. */
  get #mayBeTaken(): boolean {
    return !this.#options.isGoing() && this.snapshots.due
  }

  #endPause(): void {
    clearTimeout(this.#pause)
    this.#pause = undefined
  }

  async #try(): Promise<void> {
    try {
      await this.snapshots.take(this.#options.inTurn)
    } catch (thrown) {
      this.#options.warn('has no new snapshot', thrown)
    }
  }
}
