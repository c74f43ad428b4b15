import type { IndexStructure } from '../../gpu/index-structure.js'
import type { Store } from '../../persistence/store.js'
import type { SnapshotInfo } from '../../protocol/messages.js'
import { IndexSnapshots, type InTurn } from './index-snapshots.js'
import { PayloadReclaimer } from './payload-reclaimer.js'

export interface UpkeepOptions {
  readonly store: Store
  /** The index's id. */
  readonly id: number
  /** Bytes of log after which a snapshot is due. */
  readonly snapshotLogBytes: number
  /** Whether its payloads are of kind `bytes`. */
  readonly hasRows: boolean
  readonly inTurn: InTurn
  /** Runs a task that needs device memory, once more if others can make way for it. */
  readonly withRoom: <T>(task: () => Promise<T>) => Promise<T>
  /** Whether the index is about to go; then what is left to do is left to its next run. */
  readonly isGoing: () => boolean
  readonly warn: (what: string, thrown: unknown) => void
  /** Told of every snapshot that was written. */
  readonly onSnapshot: () => void
}

/** Writes at most between two tries to compact. */
const MOST_PATIENCE = 1023

/** How long after its last chunk a load counts as over. */
const LOAD_PAUSE_MS = 2000

/** What an index does beside its requests: compaction, snapshots, and giving back room on disk. */
export class IndexUpkeep {
  readonly snapshots: IndexSnapshots
  readonly #reclaimer: PayloadReclaimer | undefined
  readonly #options: UpkeepOptions
  /** Writes to let pass before a compaction is tried again, and how many they were the last time. */
  #writesToWait = 0
  #patience = 0
  #loadEnd: NodeJS.Timeout | undefined
  /** A compaction in the background that is being followed. */
  #background: Promise<void> | undefined

  constructor(options: UpkeepOptions) {
    const { store, id, snapshotLogBytes, hasRows } = options
    this.#options = options
    this.snapshots = new IndexSnapshots(store, id, snapshotLogBytes, options.onSnapshot)
    this.#reclaimer = hasRows ? new PayloadReclaimer(store, id) : undefined
  }

  /** What is due between writes, while no other task of the index runs. */
  async afterWrites(structure: IndexStructure): Promise<void> {
    await this.#compact(structure, false)
    if (this.snapshots.due) void this.#takeDueSnapshot()
  }

  /**
   * As `afterWrites`, after a chunk of a load. A snapshot writes the whole index, and taken again and again it would take more of the
   * disk than the load; so it waits until no chunk has come for a while.
   * @param goesOn whether another chunk follows at once
   */
  async afterLoad(structure: IndexStructure, goesOn: boolean): Promise<void> {
    await this.#compact(structure, goesOn)
    clearTimeout(this.#loadEnd)
    this.#loadEnd = setTimeout(() => {
      if (this.snapshots.due) void this.#takeDueSnapshot()
    }, LOAD_PAUSE_MS)
    this.#loadEnd.unref()
  }

  /**
   * Requests go on beside a compaction where there is room for that. One that finds no room at all has done half of its work by then,
   * so it is tried ever more rarely.
   */
  async #compact(structure: IndexStructure, goesOn: boolean): Promise<void> {
    if (this.#writesToWait > 0) {
      this.#writesToWait--
      return
    }
    try {
      await this.#options.withRoom(() => structure.compactIfWorthwhile({ inBackground: true, goesOn }))
      this.#patience = 0
      this.#follow(structure)
    } catch (thrown) {
      this.#patience = Math.min(2 * this.#patience + 1, MOST_PATIENCE)
      this.#writesToWait = this.#patience
      this.#options.warn('could not be compacted', thrown)
    }
  }

  /** What fails in the background is tried between writes the next time, so a lack of memory is not worth a warning. */
  #follow({ background }: IndexStructure): void {
    if (background === undefined || this.#background !== undefined) return
    this.#background = background.then((failure) => {
      this.#background = undefined
      if (failure?.code === 'INTERNAL')
        this.#options.warn('could not be compacted in the background', failure)
    })
  }

  async takeSnapshot(): Promise<Omit<SnapshotInfo, 'index'>> {
    const taken = await this.snapshots.take(this.#options.inTurn)
    void this.#reclaim()
    return taken
  }

  /** Takes a snapshot if that is worthwhile, and waits until none is being taken. */
  async end(isLoaded: boolean): Promise<void> {
    clearTimeout(this.#loadEnd)
    if (isLoaded && this.snapshots.worthwhile) await this.#trySnapshot()
    await this.snapshots.idle()
  }

  /** Stops what must not go on without the structure. */
  async stop(): Promise<void> {
    clearTimeout(this.#loadEnd)
    await this.snapshots.written()
    await this.#reclaimer?.stop()
  }

  async #takeDueSnapshot(): Promise<void> {
    await this.#trySnapshot()
    await this.#reclaim()
  }

  async #trySnapshot(): Promise<void> {
    try {
      await this.snapshots.take(this.#options.inTurn)
    } catch (thrown) {
      this.#options.warn('has no new snapshot', thrown)
    }
  }

  /** Room on disk is given back where the log was shortened: what it referred to may be dead since. */
  async #reclaim(): Promise<void> {
    try {
      await this.#reclaimer?.run(this.#options.inTurn)
    } catch (thrown) {
      if (!this.#options.isGoing()) this.#options.warn('could not give back room on disk', thrown)
    }
  }
}
