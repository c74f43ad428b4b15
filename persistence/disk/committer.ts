import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { AppendToLog } from '../replication/change-sets.js'
import { commitError } from './errors.js'
import { FileRoom } from './file-room.js'
import { keysOfIndex } from './record.js'

// The declarations of lmdb that a module sees do not compile in one.
type Root = import('lmdb', { with: { 'resolution-mode': 'require' }}).RootDatabase<Buffer, Buffer>
export type Keyspace = import('lmdb', { with: { 'resolution-mode': 'require' }}).Database<Buffer, Buffer>

/** One key to set or, without a value, to remove. The value must not change until the commit is done. */
export interface Change {
  readonly keyspace: Keyspace
  readonly key: Buffer
  readonly value?: Buffer
}

interface WaitingCommit {
  readonly changes: readonly Change[]
  readonly bytes: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Enters changes into the log of a replica set. @returns the change by which the store notes that it has them */
export type Share = (changes: readonly Change[], how?: AppendToLog) => Promise<Change>

/** What a store of a replica set does: the changes of all stores are its own, or those of another one. */
export type StoreRole = 'owner' | 'following'

const refuseToShare: Share = async () => {
  throw notShared()
}

function notShared(): WarpdexError {
  return new WarpdexError('NOT_OWNER', 'this node takes no writes: another one does, or none for the moment')
}

export function valueBytes(changes: readonly Change[]): number {
  return changes.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
}

/** Keys that one transaction removes where a whole range goes. */
const REMOVALS = 4096

/** How long no commit is tried after one for which there was no room: nothing will have changed at once. */
const PAUSE_MS = 1000

/**
 * All writing to LMDB goes through here, one transaction at a time: what is handed in while one is being synced shares the next.
 *
 * A transaction that fails has changed nothing, since LMDB writes the page that makes it count last. Whatever waits fails with it,
 * because it may build on it, and what was kept in memory for either is taken back. Then it goes on, once there is room again. Only
 * where LMDB itself gives up, after it could not write that page, nothing is accepted until the store is opened again.
 */
export class Committer {
  readonly #root: Root
  readonly #directory: string
  readonly #room: FileRoom
  #waiting: WaitingCommit[] = []
  #running: Promise<void> | undefined
  #closed = false
  /** Why nothing is accepted, and until when, by `performance.now()`. */
  #refusal: { readonly error: WarpdexError; readonly until: number } | undefined
  /** Takes back what was kept in memory for commits that failed. Called while no others are under way. */
  onFailure: () => void = () => {}
  #isToTakeBack = false
  /** Undefined where the store is no replica. */
  #share: Share | undefined
  /** Changes entered by it could not be made: so none of those behind them may be. */
  #behind: Share | undefined
  readonly #underWay = new Set<Promise<void>>()
  #onShareFailure: (error: WarpdexError) => void = () => {}

  /** @param directory where the data file lies */
  constructor(root: Root, directory: string) {
    this.#root = root
    this.#directory = directory
    this.#room = new FileRoom(root, directory)
  }

  /** @throws WarpdexError what `commit` would throw at once */
  requireOpen(): void {
    if (this.#refusal !== undefined && performance.now() < this.#refusal.until) throw this.#refusal.error
  }

  /** @throws WarpdexError what `commitShared` would throw at once; to be called before anything is kept in memory for it */
  requireShared(): void {
    this.requireOpen()
    // What was kept for it would lie behind that of others which are under way, and could not be taken back before these are done.
    if (this.#share === refuseToShare) throw notShared()
  }

  /**
   * Makes all changes or none. Changes of earlier calls come first. Resolves when they are synced to disk.
   *
   * @param changes at most LIMITS.transactionBytes, see `valueBytes`
   * @param take notes in memory what is synced. Called before this resolves, and before `onFailure` is for what comes next: who waits
   *   for the promise may be told after that
   * @throws WarpdexError `SHUTTING_DOWN`, `DISK_FULL`, or `INTERNAL` when the disk failed
   */
  async commit(changes: readonly Change[], take: () => void = () => {}): Promise<void> {
    this.requireOpen()
    const bytes = valueBytes(changes)
    return new Promise((resolve, reject) => {
      const synced = () => {
        take()
        resolve()
      }
      this.#waiting.push({ changes, bytes, resolve: synced, reject })
      this.#running ??= this.#run()
    })
  }

  /**
   * As `commit`, of changes that every store of a replica set makes: they are in its log first. Once any of them fails, the others do until
   * `shareBy` is called again: they may build on it.
   * @param how they are appended to the log
   */
  async commitShared(changes: readonly Change[], take?: () => void, how?: AppendToLog): Promise<void> {
    const share = this.#share
    if (share === undefined) return this.commit(changes, take)
    const shared = this.#commitShared(share, changes, take, how)
    this.#underWay.add(shared)
    try {
      await shared
    } finally {
      this.#underWay.delete(shared)
      this.#takeBack()
    }
  }

  async #commitShared(
    share: Share,
    changes: readonly Change[],
    take?: () => void,
    how?: AppendToLog,
  ): Promise<void> {
    let isShared = false
    try {
      this.requireOpen()
      const note = await share(changes, how)
      isShared = true
      if (this.#behind === share)
        throw new WarpdexError('INTERNAL', 'what comes before it could not be stored')
      await this.commit([...changes, note], take)
    } catch (thrown) {
      const error = toWarpdexError(thrown)
      if (isShared) this.#behind = share
      this.#refuseShare(share, error)
      if (!isShared) throw error
      const fate = 'it is in the log of the replica set, and takes effect by that'
      throw new WarpdexError('INTERNAL', `the write could not be stored here: ${error.message}; ${fate}`, {
        cause: thrown,
      })
    }
  }

  /** A change of a replica set failed: others may build on it. */
  #refuseShare(share: Share, error: WarpdexError): void {
    this.#isToTakeBack = true
    if (this.#share !== share) return
    this.#share = refuseToShare
    this.#onShareFailure(error)
  }

  /** Takes back what failed, once all that it may be mixed with is done: what is on its way to the log of the replica set may still come to be there. */
  #takeBack(): void {
    if (!this.#isToTakeBack || this.#underWay.size > 0) return
    this.#isToTakeBack = false
    this.onFailure()
  }

  /** The part of the store in its replica set, where it is of one. */
  get role(): StoreRole | undefined {
    if (this.#share === undefined) return undefined
    return this.#share === refuseToShare ? 'following' : 'owner'
  }

  /**
   * Has changes that all stores of a replica set make entered into its log. To be called while none are under way.
   * @param onFailure told why, once, when it does so no more
   */
  shareBy(share: Share, onFailure: (error: WarpdexError) => void): void {
    this.#share = share
    this.#onShareFailure = onFailure
  }

  /** Shares no more changes. Resolves when none are under way. */
  async stopSharing(): Promise<void> {
    this.#share = refuseToShare
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  /** Makes all changes by itself from now on. To be called while none are under way. */
  leave(): void {
    this.#share = undefined
  }

  /** Removes all keys of an index, in as many transactions as that takes. */
  async removeIndex(keyspace: Keyspace, index: number): Promise<void> {
    for (;;) {
      const keys = [...keyspace.getKeys({ ...keysOfIndex(index), limit: REMOVALS })]
      if (keys.length === 0) return
      await this.commit(keys.map((key) => ({ keyspace, key })))
    }
  }

  /** Whether its environment is closed, or about to be. */
  get closed(): boolean {
    return this.#closed
  }

  /** Accepts no more commits and waits for those that were accepted. */
  async close(): Promise<void> {
    this.#closed = true
    this.#refusal = {
      error: new WarpdexError('SHUTTING_DOWN', 'the store is closed'),
      until: Number.POSITIVE_INFINITY,
    }
    await this.#running
    this.#room.close()
  }

  async #run(): Promise<void> {
    // What is handed in during the same turn goes along.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup()
      try {
        await this.#transact(group)
        for (const { resolve } of group) resolve()
      } catch (cause) {
        this.#fail(cause, group)
      }
    }
    this.#running = undefined
  }

  #fail(cause: unknown, group: readonly WaitingCommit[]): void {
    const bytes = group.reduce((sum, one) => sum + one.bytes, 0)
    const { error, isFinal } = commitError(cause, this.#directory, bytes)
    const until = isFinal ? Number.POSITIVE_INFINITY : performance.now() + PAUSE_MS
    if (this.#refusal?.until !== Number.POSITIVE_INFINITY) this.#refusal = { error, until }
    const failed = [...group, ...this.#waiting]
    this.#waiting = []
    const share = this.#share
    if (share !== undefined && this.#underWay.size > 0) {
      this.#behind = share
      this.#refuseShare(share, error)
    }
    this.#isToTakeBack = true
    this.#takeBack()
    for (const { reject } of failed) reject(error)
  }

  #takeGroup(): readonly WaitingCommit[] {
    let bytes = 0
    let taken = 0
    while (taken < this.#waiting.length) {
      bytes += this.#waiting[taken].bytes
      if (taken > 0 && bytes > LIMITS.transactionBytes) break
      taken++
    }
    return this.#waiting.splice(0, taken)
  }

  async #transact(group: readonly WaitingCommit[]): Promise<void> {
    this.#room.provide(group.flatMap(({ changes }) => changes))
    try {
      await this.#root.batch(() => {
        for (const { changes } of group) {
          for (const { keyspace, key, value } of changes) {
            if (value === undefined) void keyspace.remove(key)
            else void keyspace.put(key, value)
          }
        }
      })
    } catch (error) {
      // LMDB tells the cause by a second promise, which would go unhandled.
      if (error instanceof Error && 'commitError' in error) await error.commitError
      throw error
    }
  }
}
