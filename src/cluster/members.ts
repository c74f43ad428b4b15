import { setTimeout as pause } from 'node:timers/promises'
import type { KV } from '@nats-io/kv'
import type { ClusterNode } from '../../protocol/replica.js'
import { patiently } from './nats.js'

/** For how long a node counts as a member that does not announce itself again. */
export const MEMBER_MS = 10_000
const RENEWAL_MS = 2500
const RETRY_MS = 200
/** Nodes of a replica set at most. */
const SLOTS = 64
/** What NATS says where something else is there already, or on its way. */
const WRONG_SEQUENCE: readonly number[] = [10_071, 10_164]

/** What a node says of itself. */
export interface Announcement extends ClusterNode {
  /** Replica sets that it was told its cluster has. */
  readonly sets: number
}

interface Seen {
  readonly node: Announcement & { readonly id: string }
  /** When it was heard, by `performance.now()`. */
  readonly at: number
}

/** A node, and when it announced itself last, by `performance.now()`. */
export interface Member extends Announcement {
  readonly at: number
}

/**
 * The nodes of a cluster, in a bucket that forgets those that do not announce themselves again. A key is a replica set and a place in it, of
 * which each has one: so nodes that start at once spread over the replica sets.
 */
export class Members {
  readonly #bucket: KV
  readonly #id = crypto.randomUUID()
  readonly #closing = new AbortController()
  readonly #seen = new Map<string, Seen>()
  readonly #following: Promise<void>
  #announcing: Promise<void> | undefined
  #key: string | undefined

  constructor(bucket: KV) {
    this.#bucket = bucket
    this.#following = this.#follow()
  }

  get nodes(): readonly Member[] {
    const since = performance.now() - MEMBER_MS
    const seen = [...this.#seen.values()].filter(({ at }) => at >= since)
    return seen.map(({ node: { id: _id, ...node }, at }) => ({ ...node, at }))
  }

  /**
   * Takes a place in the one of these replica sets that has the fewest nodes, and keeps it until it is closed.
   * @param announce what the node says of itself, of a replica set
   * @returns the replica set
   */
  async join(sets: readonly number[], announce: (set: number) => Announcement): Promise<number> {
    const set = await patiently(() => this.#take(sets, announce))
    this.#announcing = this.#announce(set, announce)
    return set
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([this.#announcing, this.#following])
    // Where this fails the bucket forgets it.
    if (this.#key !== undefined) await this.#bucket.delete(this.#key).catch(() => {})
  }

  async #take(sets: readonly number[], announce: (set: number) => Announcement): Promise<number> {
    for (let slot = 0; slot < SLOTS; slot++) {
      for (const set of sets) {
        const key = `${set}.${slot}`
        try {
          await this.#bucket.create(key, this.#text(announce(set)))
        } catch (error) {
          if (!WRONG_SEQUENCE.includes(Object(error).code)) throw error
          if (!(await this.#holds(key))) continue
        }
        this.#key = key
        return set
      }
    }
    throw new Error(`a replica set has ${SLOTS} nodes at most`)
  }

  /** Whether a place is this node's: an attempt to take it that was not answered may have been carried out. */
  async #holds(key: string): Promise<boolean> {
    const entry = await this.#bucket.get(key)
    return entry?.operation === 'PUT' && entry.json<Seen['node']>().id === this.#id
  }

  async #announce(set: number, announce: (set: number) => Announcement): Promise<void> {
    const { signal } = this.#closing
    for (;;) {
      await pause(RENEWAL_MS, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      const key = this.#key
      const holder = key === undefined ? undefined : this.#seen.get(key)?.node
      try {
        // One that stood still for long may find another node in its place.
        if (key === undefined || (holder !== undefined && holder.id !== this.#id)) {
          this.#key = undefined
          await this.#take([set], announce)
        } else await this.#bucket.put(key, this.#text(announce(set)))
      } catch {
        // Servers that do not answer are asked again.
      }
    }
  }

  #text(announcement: Announcement): string {
    return JSON.stringify({ ...announcement, id: this.#id })
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        const entries = await this.#bucket.watch()
        const end = () => entries.stop()
        signal.addEventListener('abort', end)
        if (signal.aborted) end()
        try {
          for await (const entry of entries) {
            if (entry.operation === 'PUT')
              this.#seen.set(entry.key, { node: entry.json(), at: performance.now() })
            else this.#seen.delete(entry.key)
          }
        } finally {
          signal.removeEventListener('abort', end)
        }
      } catch {
        // Servers that do not answer are asked again.
      }
      await pause(RETRY_MS, undefined, { signal }).catch(() => {})
    }
  }
}
