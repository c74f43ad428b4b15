import { aligned, asBytes } from '../../protocol/columns.js'
import { BY_TTL, type ExpiryFigures } from '../../protocol/expiry.js'
import type { Expiries } from '../../protocol/request-columns.js'
import { type IndexDefinition, WriteOp } from '../../protocol/types.js'
import type { Clock } from './clock.js'
import { DueEntries } from './due-entries.js'
import type { IndexWrite } from './index-requests.js'

/** What the expiry of an index's entries needs of it. */
interface ExpiryHost {
  readonly clock: Clock
  /** Runs a task that writes, in the index's turn with nothing beside it. */
  inTurn(task: () => Promise<void>): Promise<void>
  /** Removes what expires until some time, in its turn. */
  remove(entries: DueEntries, until: number): Promise<void>
  /** Whether the index is not on the device, and nobody waits for what the timer would have removed. */
  isAway(): boolean
  /** Whether entries go when the log says so, and not before. */
  follows(): boolean
}

/** A removal that waits for its turn. */
interface Removal {
  /** Until when it removes what expires; until it begins where this is not settled. */
  until?: number
  done: Promise<void>
}

/** Between two removals that nobody waits for, at least: each looks at all entries. */
const LEAST_PAUSE_MS = 1000
/** The system's timers take no more than 24 days. */
const MOST_PAUSE_MS = 24 * 3600 * 1000

/** Of a write that says nothing of it. */
const ALL_BY_TTL: Expiries = {
  times: asBytes(BigUint64Array.of(BY_TTL)),
  first: Number.POSITIVE_INFINITY,
  byTtl: true,
}

/**
 * Has the entries of an index leave it when they expire: a request that comes when any is due takes its place behind their removal, so that it sees none of
 * them, whatever it does. What nobody asks for is removed by a timer, but from an index that is paged out only when it is asked for.
 * In a replica set the owner does that, wherever the index is, and the others learn of it by the log.
 */
export class Expiry {
  readonly entries = new DueEntries()
  /** Seconds that entries stay of which writes say nothing else; 0: for ever. */
  readonly #ttl: number
  readonly #host: ExpiryHost
  /** Before this nothing is due, whether it is stored or waits to be, that no removal which waits will remove; only meaningful while none runs. */
  #due = 0
  /** Those that have not begun. */
  readonly #queued = new Set<Removal>()
  /** The last of them, behind which all comes that comes now. */
  #last: Removal | undefined
  /** Removals that run, or will not remove all that is due by then: what they leave is not known before their end. */
  #unknown = 0
  #alarmAt = Number.POSITIVE_INFINITY
  #stopAlarm = () => {}

  constructor(ttl: number, host: ExpiryHost) {
    this.#ttl = ttl
    this.#host = host
  }

  /**
   * Called before a request takes its place in the index's queue.
   * @returns the removal that comes before it; undefined where nothing is due
   */
  beforeRequest(): Promise<void> | undefined {
    if (this.#host.follows()) return undefined
    // What is written behind a removal that waits is not removed by it.
    const isDue = this.#host.clock.date() >= this.#due
    if (this.#last !== undefined && !isDue) return this.#last.done
    if (this.#unknown === 0 && !isDue) return undefined
    this.#due = Number.POSITIVE_INFINITY
    const removal: Removal = { done: Promise.resolve() }
    this.#queued.add(removal)
    this.#last = removal
    removal.done = this.#host.inTurn(() => this.#remove(removal))
    // Whoever waits for it is told.
    removal.done.catch(() => {})
    return removal.done
  }

  /** As `beforeRequest`, for a read version that sees what expires from now on: removals that wait leave that alone. */
  beforeVersion(): void {
    void this.beforeRequest()
    for (const removal of this.#queued) {
      if (removal.until !== undefined) continue
      removal.until = this.#host.clock.date()
      this.#unknown++
    }
    this.#last = undefined
  }

  async #remove(removal: Removal): Promise<void> {
    this.#queued.delete(removal)
    if (this.#last === removal) this.#last = undefined
    if (removal.until === undefined) this.#unknown++
    const until = removal.until ?? this.#host.clock.date()
    try {
      if (until >= this.entries.next) await this.#host.remove(this.entries, until)
    } finally {
      this.#unknown--
      this.#due = Math.min(this.#due, this.entries.next)
      this.#setAlarm()
    }
  }

  /** A write with the times at which its items expire, which is about to wait for its turn. */
  timed(write: IndexWrite): IndexWrite {
    const { ops, payloads } = write
    if (payloads === undefined || ops === WriteOp.deletePair) return write
    const expireAt = this.#settled(write.expireAt ?? ALL_BY_TTL)
    this.#due = Math.min(this.#due, expireAt.first)
    this.#setAlarm()
    return { ...write, expireAt }
  }

  /** The same with times in the place of all `BY_TTL`. */
  #settled(given: Expiries): Expiries {
    if (given.byTtl !== true) return given
    const usual = this.#ttl === 0 ? 0 : this.#host.clock.date() + this.#ttl * 1000
    const times = aligned(given.times, BigUint64Array).slice()
    for (let i = times.indexOf(BY_TTL); i >= 0; i = times.indexOf(BY_TTL, i + 1)) times[i] = BigInt(usual)
    return { times: asBytes(times), first: usual === 0 ? given.first : Math.min(given.first, usual) }
  }

  /** Takes up what is stored, which another structure holds than before, or another server has removed from until now. Nobody has asked for it yet. */
  begin(): void {
    this.#due = 0
    void this.beforeRequest()
  }

  get figures(): ExpiryFigures {
    const { removed: expired, expiring, next } = this.entries
    const isKnown = next > 0 && next < Number.POSITIVE_INFINITY
    return { expired, expiring, ...(isKnown && { nextExpiry: next }) }
  }

  /** Ends what goes on beside requests. */
  stop(): void {
    this.#stopAlarm()
    this.#alarmAt = Number.NEGATIVE_INFINITY
  }

  #setAlarm(): void {
    if (this.#due >= this.#alarmAt || this.#host.follows()) return
    this.#stopAlarm()
    this.#alarmAt = this.#due
    const { clock } = this.#host
    const pause = Math.min(Math.max(this.#due - clock.date(), LEAST_PAUSE_MS), MOST_PAUSE_MS)
    this.#stopAlarm = clock.after(pause, () => {
      this.#alarmAt = Number.POSITIVE_INFINITY
      if (this.#host.isAway()) return
      if (this.beforeRequest() === undefined) this.#setAlarm()
    })
  }
}

/** That of an index; undefined where its entries never expire. */
export function expiryOf({ ttl }: IndexDefinition, host: ExpiryHost): Expiry | undefined {
  return ttl === undefined ? undefined : new Expiry(ttl, host)
}

/** The answer to a request behind a removal, without which it may be wrong. */
export async function behind<T>(removal: Promise<void> | undefined, answer: Promise<T>): Promise<T> {
  if (removal === undefined) return answer
  const [result] = await Promise.all([answer, removal])
  return result
}
