import type { SnapshotParts } from '../../persistence/snapshots/snapshot-file.js'
import type { SnapshotInfo as StoredSnapshot } from '../../persistence/snapshots/snapshots.js'
import type { Store } from '../../persistence/store.js'
import { LIMITS } from '../../protocol/limits.js'
import type { SnapshotFigures } from '../../protocol/replies.js'
import type { EngineEvent } from '../observe/meter.js'

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
export type InTurn<S> = <T>(task: (structure: S) => Promise<T>) => Promise<T>

export interface SnapshotUpkeepOptions<S extends Snapshotted = Snapshotted> {
  readonly store: Store
  /** The id of the index or relation. */
  readonly id: number
  /** Bytes of log after which a snapshot is due. */
  readonly snapshotLogBytes: number
  /** Bytes of the newest records that stay in the log though no snapshot needs them; none by default. */
  readonly retainedLogBytes?: number | undefined
  readonly inTurn: InTurn<S>
  readonly warn: (what: string, thrown: unknown) => void
  /** Whether the index or relation is about to go; then what is left to do is left to its end, or to its next run. */
  readonly isGoing: () => boolean
  /** Told of every snapshot that was written, and of what else is done. */
  readonly happened: (event: EngineEvent) => void
}

/** How long no write must have come for a pause. */
const WRITE_PAUSE_MS = 250

/** At the end of a run a snapshot is worth its time from this share on of the log bytes that call for one during it. */
const WORTHWHILE_SHARE = 1 / 16

/** Of the bytes of the last snapshot. */
const IMAGE_SHARE = 1 / 2

/** The snapshots of one index or relation: when they are due, and that they are taken one at a time, beside its requests. */
export class SnapshotUpkeep<S extends Snapshotted = Snapshotted> {
  protected readonly options: SnapshotUpkeepOptions<S>
  /** Bytes of log that would have to be replayed. */
  #logBytes = 0
  /** Bytes of log before which none is tried. */
  #nextTry: number
  /** Whether one was asked for and is not done. */
  #asked = false
  #taking: Promise<void> = Promise.resolve()
  #writing: Promise<void> = Promise.resolve()
  #pause: NodeJS.Timeout | undefined
  /** When the one was found to be due that waits for a pause, by `performance.now()`. */
  #dueSince: number | undefined

  constructor(options: SnapshotUpkeepOptions<S>) {
    this.options = options
    this.#nextTry = options.snapshotLogBytes
  }

  /** Takes up the count of the log: so many bytes of it were replayed when the index or relation was loaded. */
  loaded(replayedBytes: number): void {
    this.#logBytes = replayedBytes
    this.takeIfDue()
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

  /** Bytes of log that are worth a snapshot. */
  get #enoughLog(): number {
    return Math.max(this.options.snapshotLogBytes, IMAGE_SHARE * (this.newest?.bytes ?? 0))
  }

  /** The newest one that is sound. */
  get newest(): StoredSnapshot | undefined {
    const { store, id } = this.options
    return store.snapshots.list(id).find(({ damaged }) => damaged !== true)
  }

  /**
   * After a write: has one taken in the background, if one is due. It waits for a pause between writes, unless the log has become several
   * times as long as one is due for, or there has been none for minutes.
   */
  takeIfDue(): void {
    if (!this.due) {
      this.#dueSince = undefined
      return
    }
    const now = performance.now()
    this.#dueSince ??= now
    const isLate = now - this.#dueSince >= LIMITS.snapshotWaitSeconds * 1000
    const isPressing = this.#logBytes >= LIMITS.snapshotLogTimes * this.#enoughLog
    if (isLate || isPressing) void this.#takeInBackground()
    else this.takeInPause(WRITE_PAUSE_MS)
  }

  /** Has one taken in the background, if one is due, once no write has come for so long. */
  protected takeInPause(milliseconds: number): void {
    this.#endPause()
    this.#pause = setTimeout(() => void this.#takeInBackground(), milliseconds)
    this.#pause.unref()
  }

  /** Takes a snapshot of all that was written before the call, or finds that there is one, and trims the log. */
  takeSnapshot(): Promise<SnapshotFigures> {
    return this.#takeNext()
  }

  /** Waits until none is being taken. */
  idle(): Promise<void> {
    return this.#taking
  }

  /** Takes a snapshot if that is worthwhile, and waits until none is being taken. */
  async end(isLoaded: boolean): Promise<void> {
    this.#endPause()
    const isWorthwhile = this.#logBytes >= this.options.snapshotLogBytes * WORTHWHILE_SHARE
    if (isLoaded && isWorthwhile) await this.#try()
    await this.idle()
  }

  /** Stops what must not go on without the structure. A snapshot that waits for its turn is not waited for. */
  async stop(): Promise<void> {
    this.#endPause()
    await this.#writing
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
    return !this.options.isGoing() && this.due
  }

  #endPause(): void {
    clearTimeout(this.#pause)
    this.#pause = undefined
  }

  async #try(): Promise<void> {
    try {
      await this.#takeNext()
    } catch (thrown) {
      this.options.warn('has no new snapshot', thrown)
    }
  }

  #takeNext(): Promise<StoredSnapshot> {
    this.#asked = true
    const taken = this.#taking.then(() => this.#take())
    this.#taking = settled(taken)
    return taken
  }

  async #take(): Promise<StoredSnapshot> {
    const { store, id, snapshotLogBytes, inTurn } = this.options
    try {
      // Writing begins within the turn and goes on after it, so that whoever comes next can wait for it.
      const { stored } = await inTurn(async (structure) => {
        const { newest } = this
        if (newest?.position === store.log.last(id)) return { stored: Promise.resolve(newest) }
        const stored = this.#write(await structure.snapshot())
        this.#writing = settled(stored)
        return { stored }
      })
      const taken = await stored
      this.#nextTry = snapshotLogBytes
      return taken
    } catch (error) {
      // A full disk is not written to again with every batch.
      this.#nextTry = this.#logBytes + snapshotLogBytes
      throw error
    } finally {
      this.#asked = false
    }
  }

  async #write({ meta, parts, release }: SnapshotContent): Promise<StoredSnapshot> {
    const replayed = this.#logBytes
    const { store, id, retainedLogBytes, happened } = this.options
    const stored = await store.snapshots.write(id, store.log.last(id), meta, parts).finally(release)
    this.#logBytes -= replayed
    happened('snapshot')
    await store.snapshots.trimLog(id, retainedLogBytes)
    return stored
  }
}

function settled(promise: Promise<unknown>): Promise<void> {
  return promise.then(
    () => {},
    () => {},
  )
}
