import { setTimeout as pause } from 'node:timers/promises'
import type { KV } from '@nats-io/kv'
import type { Ownership } from './replica-node.js'

/** How long a lease is held that is not renewed, from before it was written. */
const TERM_MS = 3000
/** How much earlier its holder stops relying on it, since clocks of machines run at slightly different speeds. */
const MARGIN_MS = 300
const RENEWAL_MS = 750
/** How often those look at it who wait for it. */
const LOOK_MS = 250
/** How much later a node takes it that lags: all others have looked by then. */
const LAG_MS = 1000
/** For how long it is left to others: longer than a term, which they wait for where they are not told. */
const REST_MS = 5000

const KEY = 'owner'

interface Holder {
  /** Of the process, not of the node: what a process before it held is not this one's. Absent where it is left to the node, which has not taken it. */
  readonly id?: string
  readonly url: string
}

/**
 * The ownership of a replica set: a key of a bucket, which its holder writes again and again. Others write it only once a term has passed since
 * they first saw what is there, and each write names the revision that it replaces, so that of two one fails. Thus no two hold it at a time,
 * and everybody relies on the speed of its own monotonic clock alone, not on the time of any machine.
 */
export class Lease implements Ownership {
  readonly #bucket: KV
  readonly #own: Holder
  readonly #isFresh: () => boolean
  readonly #closing = new AbortController()
  readonly #running: Promise<void>
  /** Which it has written last; undefined where another one, or an unanswered one of its own, may be the last. */
  #revision: number | undefined
  /** Until when it is held, by `performance.now()`. */
  #until = Number.NEGATIVE_INFINITY
  /** Until when it is left to others, likewise. */
  #restsUntil = Number.NEGATIVE_INFINITY
  /** To which of them first, by its address. */
  #successor: string | undefined
  /** What was written last that is not its own, be it a deletion, and since when that is known. */
  #seen: { readonly revision: number; readonly since: number } | undefined
  #holder: Holder | undefined
  #expiry: NodeJS.Timeout | undefined
  #waiting: { readonly isHeld: boolean; readonly resolve: () => void }[] = []
  /** Has it look at once. */
  #wake: () => void = () => {}

  /**
   * Takes the lease whenever it is free, until it is closed.
   * @param url by which clients reach the node
   * @param isFresh whether it has what the log has; while it lags it takes the lease a second later, if no other node has by then
   */
  constructor(bucket: KV, url: string, isFresh: () => boolean) {
    this.#bucket = bucket
    this.#own = { id: crypto.randomUUID(), url }
    this.#isFresh = isFresh
    this.#running = this.#run()
  }

  get isHeld(): boolean {
    return performance.now() < this.#until && !this.#rests
  }

  get #rests(): boolean {
    return performance.now() < this.#restsUntil
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

  rest(successor?: string): void {
    this.#restsUntil = performance.now() + REST_MS
    this.#successor = successor
    this.#lose()
    this.#wake()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#wake()
    await this.#running
    await this.#giveUp()
  }

  async #giveUp(): Promise<void> {
    this.#lose()
    const previousSeq = this.#revision
    const url = this.#successor
    this.#revision = undefined
    this.#successor = undefined
    if (previousSeq === undefined) return
    // For all others this is a lease that nobody renews.
    const left =
      url === undefined
        ? this.#bucket.delete(KEY, { previousSeq })
        : this.#bucket.put(KEY, JSON.stringify({ url } satisfies Holder), { previousSeq })
    // Where this fails, or an answer is missing, it ends by itself.
    await left.catch(() => {})
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
      const woken = new AbortController()
      this.#wake = () => woken.abort()
      await this.#turn().catch(() => {
        this.#revision = undefined
      })
      const rest = this.#revision === undefined ? LOOK_MS : RENEWAL_MS
      await pause(rest, undefined, woken).catch(() => {})
    }
  }

  /** Renews it, takes it, or sees who holds it. */
  async #turn(): Promise<void> {
    if (this.#rests) await this.#giveUp()
    if (this.#revision !== undefined) return this.#write(this.#revision)
    const entry = await this.#bucket.get(KEY)
    if (entry === null) return this.#write(0)
    const { revision } = entry
    const holder = entry.operation === 'PUT' ? entry.json<Holder>() : undefined
    // What was not answered was done.
    const { id, url } = this.#own
    if (holder?.url === url && (holder.id ?? id) === id) return this.#write(revision)
    this.#lose()
    const now = performance.now()
    if (this.#seen?.revision !== revision) this.#seen = { revision, since: now }
    const free = this.#seen.since + (holder === undefined ? 0 : TERM_MS)
    this.#holder = now >= free ? undefined : holder
    if (now >= free + (this.#isFresh() ? 0 : LAG_MS)) await this.#write(revision)
  }

  /** @param previousSeq the revision that it replaces; 0 where there is none */
  async #write(previousSeq: number): Promise<void> {
    if (this.#rests) return
    const sent = performance.now()
    const options = { previousSeq, timeout: TERM_MS }
    this.#revision = await this.#bucket.put(KEY, JSON.stringify(this.#own), options)
    this.#until = sent + TERM_MS - MARGIN_MS
    this.#holder = undefined
    this.#tell()
    clearTimeout(this.#expiry)
    this.#awaitEnd()
  }

  #awaitEnd(): void {
    const rest = Math.max(1, this.#until - performance.now())
    // Timers may be early by this clock.
    this.#expiry = setTimeout(() => (this.isHeld ? this.#awaitEnd() : this.#tell()), rest)
  }

  #lose(): void {
    clearTimeout(this.#expiry)
    this.#until = Number.NEGATIVE_INFINITY
    this.#tell()
  }

  #tell(): void {
    const { isHeld } = this
    const told = this.#waiting.filter((one) => one.isHeld === isHeld)
    this.#waiting = this.#waiting.filter((one) => one.isHeld !== isHeld)
    for (const { resolve } of told) resolve()
  }
}
