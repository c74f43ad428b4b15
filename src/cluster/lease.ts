import { setTimeout as pause } from 'node:timers/promises'
import type { KV } from '@nats-io/kv'
import type { Ownership } from './replica-node.js'

/** How long a lease is held that is not renewed. */
export const LEASE_SECONDS = 3
/** What may pass between the end of a lease by the clock here and by that of the servers. */
const MARGIN_MS = 500
const RENEWAL_MS = 750
const RETRY_MS = 400

const KEY = 'owner'

interface Holder {
  /** Of the process, not of the node: what a process before it held is not this one's. */
  readonly id: string
  readonly url: string
}

/**
 * The ownership of a replica set: a key of a bucket whose values live for `LEASE_SECONDS`. One node can create it, and renews it. By its
 * own clock it holds it for less time than the servers do, counted from before each renewal was sent.
 */
export class Lease implements Ownership {
  readonly #bucket: KV
  readonly #own: Holder
  readonly #closing = new AbortController()
  #revision: number | undefined
  /** Until when it is held, by `performance.now()`. */
  #until = 0
  #holder: Holder | undefined
  readonly #waiting: { readonly isHeld: boolean; readonly resolve: () => void }[] = []
  readonly #running: Promise<void>

  /** @param url by which clients reach the node */
  constructor(bucket: KV, url: string) {
    this.#bucket = bucket
    this.#own = { id: crypto.randomUUID(), url }
    this.#running = this.#run()
  }

  get isHeld(): boolean {
    return performance.now() < this.#until
  }

  get owner(): string | undefined {
    return this.isHeld ? this.#own.url : this.#holder?.url
  }

  gained(): Promise<void> {
    return this.#comes(true)
  }

  lost(): Promise<void> {
    return this.#comes(false)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
    const held = this.#revision
    this.#lose()
    if (held !== undefined) await this.#bucket.delete(KEY, { previousSeq: held }).catch(() => {})
  }

  #comes(isHeld: boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ isHeld, resolve })
      this.#tell()
    })
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      const sent = performance.now()
      if (this.#revision === undefined) await this.#take(sent)
      else await this.#renew(this.#revision, sent)
      const rest = this.isHeld ? RENEWAL_MS : RETRY_MS
      await pause(rest, undefined, { signal }).catch(() => {})
      this.#tell()
    }
  }

  async #take(sent: number): Promise<void> {
    try {
      this.#hold(await this.#bucket.create(KEY, JSON.stringify(this.#own)), sent)
    } catch {
      const entry = await this.#bucket.get(KEY).catch(() => null)
      this.#holder = entry?.operation === 'PUT' ? entry.json<Holder>() : undefined
      // What was not answered may have been done.
      if (entry !== null && this.#holder?.id === this.#own.id) this.#revision = entry.revision
    }
  }

  async #renew(revision: number, sent: number): Promise<void> {
    try {
      this.#hold(await this.#bucket.update(KEY, JSON.stringify(this.#own), revision, RENEWAL_MS), sent)
    } catch {
      const entry = await this.#bucket.get(KEY).catch(() => undefined)
      if (entry === undefined) return
      const holder = entry?.operation === 'PUT' ? entry.json<Holder>() : undefined
      if (holder?.id === this.#own.id) this.#revision = entry?.revision
      else {
        this.#holder = holder
        this.#lose()
      }
    }
  }

  #hold(revision: number, sent: number): void {
    this.#revision = revision
    this.#until = sent + LEASE_SECONDS * 1000 - MARGIN_MS
    this.#holder = this.#own
    this.#tell()
    const end = setTimeout(() => this.#tell(), this.#until - performance.now() + 1)
    end.unref()
  }

  #lose(): void {
    this.#revision = undefined
    this.#until = 0
    this.#tell()
  }

  #tell(): void {
    for (let i = this.#waiting.length - 1; i >= 0; i--) {
      if (this.#waiting[i].isHeld !== this.isHeld) continue
      const [{ resolve }] = this.#waiting.splice(i, 1)
      resolve()
    }
  }
}
