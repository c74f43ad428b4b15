import type { Database, RootDatabase } from 'lmdb'
import { WarpdexError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import { keysOfIndex } from './keys.js'

export type Keyspace = Database<Buffer, Buffer>

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

export function valueBytes(changes: readonly Change[]): number {
  return changes.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
}

/** Keys that one transaction removes where a whole range goes. */
const REMOVALS = 4096

/**
 * All writing to LMDB goes through here, one transaction at a time: what is handed in while one is being synced shares the next.
 * After a failed commit nobody knows what is on disk, so nothing is accepted any more until the store is opened again.
 */
export class Committer {
  readonly #root: RootDatabase<Buffer, Buffer>
  #waiting: WaitingCommit[] = []
  #running: Promise<void> | undefined
  #refusal: WarpdexError | undefined

  constructor(root: RootDatabase<Buffer, Buffer>) {
    this.#root = root
  }

  /**
   * Makes all changes or none. Changes of earlier calls come first. Resolves when they are synced to disk.
   *
   * @param changes at most LIMITS.transactionBytes, see `valueBytes`
   * @throws WarpdexError `SHUTTING_DOWN`, or `INTERNAL` when the disk failed
   */
  commit(changes: readonly Change[]): Promise<void> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal)
    const bytes = valueBytes(changes)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ changes, bytes, resolve, reject })
      this.#running ??= this.#run()
    })
  }

  /** Removes all keys of an index, in as many transactions as that takes. */
  async removeIndex(keyspace: Keyspace, index: number): Promise<void> {
    for (;;) {
      const keys = [...keyspace.getKeys({ ...keysOfIndex(index), limit: REMOVALS })]
      if (keys.length === 0) return
      await this.commit(keys.map((key) => ({ keyspace, key })))
    }
  }

  /** Accepts no more commits and waits for those that were accepted. */
  async close(): Promise<void> {
    this.#refusal ??= new WarpdexError('SHUTTING_DOWN', 'the store is closed')
    await this.#running
  }

  async #run(): Promise<void> {
    // What is handed in during the same turn goes along.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup()
      try {
        await this.#transact(group)
        for (const { resolve } of group) resolve()
      } catch (error) {
        this.#refusal = new WarpdexError(
          'INTERNAL',
          `the store takes no more writes because a commit failed: ${String(error)}; make room on the disk or mend it, and restart`,
          { cause: error },
        )
        for (const { reject } of [...group, ...this.#waiting]) reject(this.#refusal)
        this.#waiting = []
      }
    }
    this.#running = undefined
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
