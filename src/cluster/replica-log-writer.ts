import type {
  AppendToLog,
  ChangeSet,
  ReplicaLog,
  SetPosition,
} from '../../persistence/replication/change-sets.js'
import { encodeEntry } from '../../persistence/replication/change-sets.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import type { ReplicatedLog } from './replicated-log.js'

/** Bytes of change sets that go into one entry, unless one has more. */
const ENTRY_BYTES = 8 * 2 ** 20

interface WaitingSet {
  readonly changes: ChangeSet
  readonly bytes: number
  readonly how: AppendToLog | undefined
  readonly resolve: (position: SetPosition) => void
  readonly reject: (error: WarpdexError) => void
}

/**
 * Appends the change sets of a node that owns its replica set. What comes while an entry is being synced shares the next one. After a failure
 * it appends nothing any more: what the log holds has to be found out first.
 */
export class ReplicaLogWriter implements ReplicaLog {
  readonly #log: ReplicatedLog
  readonly #isOwner: () => boolean
  readonly #onAppended: (bytes: number) => void
  /** Of the last entry. */
  #position: number
  #waiting: WaitingSet[] = []
  #isRunning = false
  #failure: WarpdexError | undefined
  #onEnd: (reason: WarpdexError) => void = () => {}
  /** Resolves with the reason when nothing is appended any more. */
  readonly end = new Promise<WarpdexError>((resolve) => {
    this.#onEnd = resolve
  })

  /**
   * @param position of the last entry, which is this node's
   * @param isOwner whether the node owns the replica set at the moment
   * @param onAppended told of the bytes of each entry
   */
  constructor(
    log: ReplicatedLog,
    position: number,
    isOwner: () => boolean,
    onAppended: (bytes: number) => void,
  ) {
    this.#log = log
    this.#position = position
    this.#isOwner = isOwner
    this.#onAppended = onAppended
  }

  append(changes: ChangeSet, how?: AppendToLog): Promise<SetPosition> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    const bytes = changes.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ changes, bytes, how, resolve, reject })
      if (!this.#isRunning) void this.#run()
    })
  }

  /** Appends nothing any more. */
  failed(reason: WarpdexError): void {
    this.#failure ??= reason
    const waiting = this.#waiting
    this.#waiting = []
    for (const { reject } of waiting) reject(this.#failure)
    this.#onEnd(this.#failure)
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    // What is handed in during the same turn goes along.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup()
      try {
        if (!this.#isOwner()) throw new WarpdexError('NOT_OWNER', 'this node owns its replica set no more')
        const entry = encodeEntry(group.map(({ changes }) => changes))
        const { how = (entry, expected) => this.#log.append(entry, expected) } = group[0]
        this.#position = await how(entry, this.#position)
        for (const [set, { resolve }] of group.entries())
          resolve({ entry: this.#position, set, sets: group.length })
        this.#onAppended(entry.byteLength)
      } catch (thrown) {
        const error = toWarpdexError(thrown)
        for (const { reject } of group) reject(error)
        this.failed(error)
      }
    }
    this.#isRunning = false
  }

  #takeGroup(): readonly WaitingSet[] {
    let bytes = 0
    let taken = 0
    while (taken < this.#waiting.length) {
      const { bytes: own, how } = this.#waiting[taken]
      bytes += own
      if (taken > 0 && (bytes > ENTRY_BYTES || how !== undefined)) break
      taken++
      if (how !== undefined) break
    }
    return this.#waiting.splice(0, taken)
  }
}
