import type { IndexStructure } from '../../gpu/index-structure.js'
import type { Store } from '../../persistence/store.js'
import type { SnapshotFigures } from '../../protocol/replies.js'
import { IndexSnapshots, type InTurn } from './index-snapshots.js'

export interface SnapshotUpkeepOptions {
  readonly store: Store
  /** The id of the index or relation. */
  readonly id: number
  /** Bytes of log after which a snapshot is due. */
  readonly snapshotLogBytes: number
  readonly inTurn: InTurn<Pick<IndexStructure, 'image'>>
  readonly warn: (what: string, thrown: unknown) => void
  /** Told of every snapshot that was written. */
  readonly onSnapshot: () => void
}

/** The snapshots that an index or a relation takes beside its requests. */
export class SnapshotUpkeep {
  readonly snapshots: IndexSnapshots
  readonly #options: SnapshotUpkeepOptions

  constructor(options: SnapshotUpkeepOptions) {
    const { store, id, snapshotLogBytes, onSnapshot } = options
    this.#options = options
    this.snapshots = new IndexSnapshots(store, id, snapshotLogBytes, onSnapshot)
  }

  /** Has one taken in the background, if one is due. */
  takeIfDue(): void {
    if (this.snapshots.due) void this.takeDue()
  }

  takeSnapshot(): Promise<SnapshotFigures> {
    return this.snapshots.take(this.#options.inTurn)
  }

  /** Takes a snapshot if that is worthwhile, and waits until none is being taken. */
  async end(isLoaded: boolean): Promise<void> {
    if (isLoaded && this.snapshots.worthwhile) await this.#try()
    await this.snapshots.idle()
  }

  /** Stops what must not go on without the structure. */
  async stop(): Promise<void> {
    await this.snapshots.written()
  }

  protected takeDue(): Promise<void> {
    return this.#try()
  }

  async #try(): Promise<void> {
    try {
      await this.snapshots.take(this.#options.inTurn)
    } catch (thrown) {
      this.#options.warn('has no new snapshot', thrown)
    }
  }
}
