import type { BackpressureLimits } from './backpressure-limits.js'

/** Of the bound for all connections, what replies may come to that turn out larger than they were expected to be. */
const MOST_EXCESS = 1.5

/** Replies of all connections that have not left. */
export class AllReplies {
  readonly #limits: BackpressureLimits
  readonly #connections = new Set<ReplyBackpressure>()
  /** Connections whose next request waits for room, in the order in which they began to wait. */
  readonly #waiting = new Set<ReplyBackpressure>()
  /** The one that is let in from the line. */
  #next: ReplyBackpressure | undefined
  #bytes = 0
  #expected = 0

  constructor(limits: BackpressureLimits) {
    this.#limits = limits
  }

  get bytes(): number {
    return this.#bytes
  }

  join(one: ReplyBackpressure): void {
    this.#connections.add(one)
  }

  leave(one: ReplyBackpressure): void {
    if (!this.#connections.delete(one)) return
    this.#bytes -= one.bytes
    this.#expected -= one.expected
    this.leaveLine(one)
  }

  /** Bytes that wait now, or that left where they are negative. Past the bound with its excess the slowest connection is cut. */
  count(bytes: number): void {
    this.#bytes += bytes
    while (this.#bytes > MOST_EXCESS * this.#limits.replyBytesInAll) {
      const [first, ...others] = this.#connections
      if (first === undefined) return
      others.reduce((slowest, one) => (isSlower(one, slowest) ? one : slowest), first).cut()
    }
    if (bytes < 0) this.#wake()
  }

  /** Bytes of replies that are to be made, or that have been where they are negative. */
  expect(bytes: number): void {
    this.#expected += bytes
    if (bytes < 0) this.#wake()
  }

  /**
   * Whether a connection may begin a request whose reply is expected to have so many bytes. One that may not waits in line. Whoever
   * has nothing may always have a little, and a reply that is larger than the bound comes when there is half of it.
   */
  admits(one: ReplyBackpressure, bytes: number): boolean {
    const { replyBytesInAll, bytesReserved } = this.#limits
    const taken = this.#bytes + this.#expected
    const little = bytes <= bytesReserved && one.bytes + one.expected === 0
    const inTurn = this.#waiting.size === 0 || this.#next === one
    const roomy = taken < replyBytesInAll / 2 || taken + bytes <= replyBytesInAll
    if (little || (inTurn && roomy)) {
      this.#next = undefined
      this.#waiting.delete(one)
      return true
    }
    this.#waiting.add(one)
    return false
  }

  leaveLine(one: ReplyBackpressure): void {
    this.#waiting.delete(one)
    this.#wake()
  }

  /** Lets those in line go on, until one finds no room. */
  #wake(): void {
    // What is begun in here may end at once and come here again; the line is worked off already.
    if (this.#next !== undefined) return
    for (const one of this.#waiting) {
      this.#next = one
      one.onRoom()
      const stayed = this.#next === one
      this.#next = undefined
      if (stayed && this.#waiting.has(one)) return
    }
  }
}

/** Who has not read for longer, or as long and leaves more, is slower. */
function isSlower(one: ReplyBackpressure, other: ReplyBackpressure): boolean {
  return one.behind === other.behind ? one.bytes > other.bytes : one.behind > other.behind
}

/** Replies of one connection that are being made or have not left. */
export class ReplyBackpressure {
  readonly #limits: BackpressureLimits
  readonly #shared: AllReplies
  readonly #onCut: () => void
  /** Called when there may be room for the next reply. */
  onRoom: () => void = () => {}
  #bytes = 0
  #expected = 0
  #closed = false
  /** Bytes that have left since the last tick. */
  #sent = 0
  /** Seconds by which it lags behind the slowest client that is borne with. */
  #behind = 0

  /** @param onCut ends the connection at once, since its replies take too much of what there is for all */
  constructor(limits: BackpressureLimits, shared: AllReplies, onCut: () => void) {
    this.#limits = limits
    this.#shared = shared
    this.#onCut = onCut
    shared.join(this)
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Bytes that replies are expected to have that are being made. */
  get expected(): number {
    return this.#expected
  }

  get behind(): number {
    return this.#behind
  }

  /** How much of the bound waits, 1 for all of it. */
  get load(): number {
    return this.#bytes / this.#limits.replyBytesQueued
  }

  /**
   * Takes room for a reply that is expected to have so many bytes: of half the bound, of which the other half is for replies that turn
   * out larger. One may always be made.
   * @returns false where there is none; `onRoom` is called when there may be some
   */
  take(bytes: number): boolean {
    // Nothing comes of what is begun for a connection that is over.
    if (this.#closed) return true
    const taken = this.#bytes + this.#expected
    if (taken > 0 && taken + bytes > this.#limits.replyBytesQueued / 2) {
      // It waits for itself, and holds up nobody meanwhile.
      this.#shared.leaveLine(this)
      return false
    }
    if (!this.#shared.admits(this, bytes)) return false
    this.#expected += bytes
    this.#shared.expect(bytes)
    return true
  }

  /** The reply for which room was taken waits, or there is none. */
  giveBack(bytes: number): void {
    if (this.#closed) return
    this.#expected -= bytes
    this.#shared.expect(-bytes)
  }

  /** Nothing is to be begun any more. */
  leaveLine(): void {
    this.#shared.leaveLine(this)
  }

  /** A reply of so many bytes waits. */
  queued(bytes: number): void {
    if (this.#closed) return
    this.#bytes += bytes
    this.#shared.count(bytes)
  }

  /** It has left. */
  sent(bytes: number): void {
    if (this.#closed) return
    this.#sent += bytes
    this.#bytes -= bytes
    this.#shared.count(-bytes)
  }

  /**
   * Time goes by.
   * @returns whether the client does not read, or slower than is borne with for long
   */
  tick(seconds: number): boolean {
    const { stallSeconds, slowestBytesPerSecond } = this.#limits
    const worth = this.#sent / slowestBytesPerSecond
    this.#sent = 0
    this.#behind = this.#bytes === 0 ? 0 : Math.max(0, this.#behind + seconds - worth)
    return this.#behind > stallSeconds
  }

  cut(): void {
    this.close()
    this.#onCut()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#shared.leave(this)
  }
}
