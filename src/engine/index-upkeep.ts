import type { CompactionOptions, IndexStructure } from '../../gpu/index-structure.js'
import type { SnapshotFigures } from '../../protocol/replies.js'
import type { PagedStructure } from './paged-structure.js'
import { PayloadReclaimer } from './payload-reclaimer.js'
import { SnapshotUpkeep, type SnapshotUpkeepOptions } from './snapshot-upkeep.js'

interface UpkeepOptions extends SnapshotUpkeepOptions<PagedStructure<IndexStructure>> {
  /** Whether its payloads are of kind `bytes`. */
  readonly hasRows: boolean
  /** Whether there are copies of the index, which may have entries that it lacks. */
  readonly isCopied: () => boolean
  /** Runs a task in the index's turn with nothing else beside it; not where the index is paged out. */
  readonly betweenWrites: (task: (structure: IndexStructure) => Promise<unknown>) => Promise<void>
  /** Runs a task that needs device memory, once more if others can make way for it. */
  readonly withRoom: <T>(task: () => Promise<T>) => Promise<T>
}

/** Writes at most between two tries to compact. */
const MOST_PATIENCE = 1023

/** How long after its last chunk a load counts as over. */
const LOAD_PAUSE_MS = 2000

/** The same of writes that came one right behind the other, for what is given back after them. */
const STREAM_PAUSE_MS = 250

/** What an index does beside its requests: compaction, snapshots, and giving back room on disk. */
export class IndexUpkeep extends SnapshotUpkeep<PagedStructure<IndexStructure>> {
  readonly #reclaimer: PayloadReclaimer | undefined
  readonly #betweenWrites: UpkeepOptions['betweenWrites']
  readonly #withRoom: UpkeepOptions['withRoom']
  readonly #isCopied: () => boolean
  /** Writes to let pass before a compaction is tried again, and how many they were the last time. */
  #writesToWait = 0
  #patience = 0
  #streamEnd: NodeJS.Timeout | undefined
  /** A compaction in the background that is being followed. */
  #background: Promise<void> | undefined

  constructor(options: UpkeepOptions) {
    super(options)
    const { store, id, hasRows, retainedLogBytes = 0, isCopied, betweenWrites, withRoom } = options
    this.#isCopied = isCopied
    this.#betweenWrites = betweenWrites
    this.#withRoom = withRoom
    this.#reclaimer = hasRows ? new PayloadReclaimer(store, id, retainedLogBytes > 0) : undefined
  }

  /**
   * What is due between writes, while no other task of the index runs.
   * @param goesOn whether another batch follows at once
   */
  async afterWrites(structure: IndexStructure, goesOn: boolean): Promise<void> {
    await this.#compact(structure, { goesOn, keepsRoom: goesOn || this.isStreaming })
    if (goesOn || this.isStreaming) this.#awaitStreamEnd()
    this.takeIfDue()
  }

  /** Whether writes came one right behind the other a moment ago, so that more of them are to be expected. */
  get isStreaming(): boolean {
    return this.#streamEnd !== undefined
  }

  #awaitStreamEnd(): void {
    clearTimeout(this.#streamEnd)
    this.#streamEnd = setTimeout(() => {
      this.#streamEnd = undefined
      const settling = this.#betweenWrites(async (structure) => {
        // A write that was under way for longer may have come in between.
        if (!this.isStreaming) await this.#compact(structure, {})
      })
      settling.catch((thrown: unknown) => {
        if (!this.options.isGoing()) this.options.warn('could not give back room', thrown)
      })
    }, STREAM_PAUSE_MS)
    this.#streamEnd.unref()
  }

  /**
   * As `afterWrites`, after a chunk of a load. A snapshot writes the whole index, and taken again and again it would take more of the
   * disk than the load; so it waits until no chunk has come for a while.
   */
  async afterLoad(structure: IndexStructure, goesOn: boolean): Promise<void> {
    await this.#compact(structure, { goesOn })
    this.takeInPause(LOAD_PAUSE_MS)
  }

  /**
   * Requests go on beside a compaction where there is room for that. One that finds no room at all has done half of its work by then,
   * so it is tried ever more rarely.
   */
  async #compact(structure: IndexStructure, options: Omit<CompactionOptions, 'inBackground'>): Promise<void> {
    if (this.#writesToWait > 0) {
      this.#writesToWait--
      return
    }
    try {
      const wasMerging = structure.background !== undefined
      const compact = () => structure.compactIfWorthwhile({ inBackground: true, ...options })
      if (await this.#withRoom(compact)) this.options.happened('compaction')
      if (!wasMerging && structure.background !== undefined) this.options.happened('merge')
      this.#patience = 0
      this.#follow(structure)
    } catch (thrown) {
      this.#patience = Math.min(2 * this.#patience + 1, MOST_PATIENCE)
      this.#writesToWait = this.#patience
      this.options.warn('could not be compacted', thrown)
    }
  }

  /** What fails in the background is tried between writes the next time, so a lack of memory is not worth a warning. */
  #follow({ background }: IndexStructure): void {
    if (background === undefined || this.#background !== undefined) return
    this.#background = background.then((failure) => {
      this.#background = undefined
      if (failure?.code === 'INTERNAL') this.options.warn('could not be compacted in the background', failure)
    })
  }

  override async takeSnapshot(): Promise<SnapshotFigures> {
    const taken = await super.takeSnapshot()
    void this.#reclaim()
    return taken
  }

  override async end(isLoaded: boolean): Promise<void> {
    this.#clearStream()
    await super.end(isLoaded)
  }

  override async stop(): Promise<void> {
    this.#clearStream()
    await super.stop()
    await this.stopReclaiming()
  }

  /** Keeps what is on disk for entries until it is done the next time. */
  async stopReclaiming(): Promise<void> {
    await this.#reclaimer?.stop()
  }

  #clearStream(): void {
    clearTimeout(this.#streamEnd)
    this.#streamEnd = undefined
  }

  protected override async takeDue(): Promise<void> {
    await super.takeDue()
    await this.#reclaim()
  }

  /** Room on disk is given back where the log was shortened: what it referred to may be dead since. */
  async #reclaim(): Promise<void> {
    if (this.#isCopied()) return
    try {
      await this.#reclaimer?.run(this.options.inTurn)
    } catch (thrown) {
      if (!this.options.isGoing()) this.options.warn('could not give back room on disk', thrown)
    }
  }
}
