import type { BackpressureLimits } from './backpressure-limits.js'
import type { ConnectionBackpressure } from './connection-backpressure.js'
import { ReplySizes } from './reply-sizes.js'

const LONGEST_TICK_SECONDS = 1

/** Of the bound for all connections, what replies may come to that turn out larger than they were expected to be. */
const MOST_EXCESS = 1.5

export const NO_LOAD = {
  /** Requests that are not answered. */
  requests: 0,
  requestBytes: 0,
  /** Bytes of replies that have not left. */
  replyBytes: 0,
  /** Connections that wait for an answer. */
  waitingClients: 0,
}

/** What the connections take at the moment. */
export type Load = Readonly<typeof NO_LOAD>

/** What several take together. */
export function sumOf(loads: readonly Load[]): Load {
  const sum = { ...NO_LOAD }
  for (const load of loads) for (const name in sum) sum[name as keyof Load] += load[name as keyof Load]
  return sum
}

/**
 * What all connections of a server take, and who of them waits for room: to read on, and to begin a request, for whose reply there must be some.
 * Time is counted in ticks, so that neither clocks nor a busy thread shorten it.
 */
export class Backpressure {
  readonly limits: BackpressureLimits
  readonly replySizes = new ReplySizes()
  readonly connections = new Set<ConnectionBackpressure>()
  /** Told of seconds that have gone by. */
  readonly watches = new Set<{ tick(seconds: number): void }>()
  /** Requests that are not answered, and their bytes with those of messages that are coming in; each connection counts its own here. */
  requests = 0
  requestBytes = 0
  /** Bytes of replies that have not left, and those that replies are expected to have that are being made. */
  replyBytes = 0
  expectedBytes = 0
  /** Connections that may not read on, in the order in which they began to wait. */
  readonly #readers = new Set<ConnectionBackpressure>()
  /** Of how many it is the turn to read a message past the bound. */
  #turns = 0
  /** Those whose next request waits for room for its reply, in the order in which they began to wait. */
  readonly #starters = new Set<ConnectionBackpressure>()
  readonly #timer: NodeJS.Timeout

  constructor(limits: BackpressureLimits) {
    this.limits = limits
    const seconds = Math.min(LONGEST_TICK_SECONDS, limits.pingSeconds / 4, limits.stallSeconds / 4)
    this.#timer = setInterval(() => {
      for (const watch of this.watches) watch.tick(seconds)
    }, seconds * 1000)
    this.#timer.unref()
  }

  get load(): Load {
    const { requests, requestBytes, replyBytes } = this
    const waiting = [...this.connections].filter((one) => one.requests > 0)
    return { requests, requestBytes, replyBytes, waitingClients: waiting.length }
  }

  /** Whether there is somebody who may not read on. */
  get crowded(): boolean {
    return this.#readers.size > 0
  }

  /**
   * Whether a connection may read on. One that may not waits in line. While the bound is reached, those read on that have little
   * themselves, and of those in the middle of a message the first few in line, to its end: so all get their turn, and memory has a
   * bound. Who is not in the middle of one has requests that run, and goes on when they are answered.
   */
  mayRead(one: ConnectionBackpressure): boolean {
    const isFree = this.requestBytes < this.limits.bytesInAll || one.bytes <= this.limits.bytesReserved
    if (!isFree && one.turn === undefined && one.partial > 0 && !this.#turnsAreTaken) {
      one.turn = 'coming'
      this.#turns++
    }
    const may = isFree || one.turn === 'coming'
    if (may) this.#readers.delete(one)
    else this.#readers.add(one)
    return may
  }

  /** Whoever has enough of its own does not wait for others. */
  leaveReaders(one: ConnectionBackpressure): void {
    this.#readers.delete(one)
  }

  /** The message of a turn is answered, or does not come. */
  endTurn(one: ConnectionBackpressure): void {
    one.turn = undefined
    this.#turns--
  }

  /**
   * Whether a connection may begin a request whose reply is expected to have so many bytes: of half the bound of its own, of which the other
   * half is for replies that turn out larger, and of the bound for all, for which it waits in line. One may always be made; who has
   * nothing may always have a little; and a reply that is larger than the bound for all comes when there is half of it.
   */
  mayBegin(one: ConnectionBackpressure, bytes: number): boolean {
    const { replyBytesQueued, replyBytesInAll, bytesReserved } = this.limits
    const own = one.replyBytes + one.expectedBytes
    if (own > 0 && own + bytes > replyBytesQueued / 2) {
      this.leaveStarters(one)
      return false
    }
    const taken = this.replyBytes + this.expectedBytes
    const isLittle = bytes <= bytesReserved && own === 0
    const isRoomy = taken < replyBytesInAll / 2 || taken + bytes <= replyBytesInAll
    const [first = one] = this.#starters
    if (isLittle || (first === one && isRoomy)) {
      this.#starters.delete(one)
      return true
    }
    this.#starters.add(one)
    return false
  }

  /** Whoever waits for itself, or has nothing to begin, holds up nobody. */
  leaveStarters(one: ConnectionBackpressure): void {
    if (this.#starters.delete(one)) this.wake()
  }

  /**
   * Lets in who may go on: requests until the first in line finds no room for its reply, then who waits to read. While replies are far past
   * the bound the slowest connections are cut.
   */
  wake(): void {
    if (this.replyBytes > MOST_EXCESS * this.limits.replyBytesInAll) this.#cutSlowest()
    let [first] = this.#starters
    while (first !== undefined) {
      first.proceed()
      const [next] = this.#starters
      if (next === first) break
      first = next
    }
    for (const one of this.#readers) {
      if (this.requestBytes >= this.limits.bytesInAll && this.#turnsAreTaken) return
      one.pauseOrResume()
    }
  }

  leave(one: ConnectionBackpressure): void {
    this.connections.delete(one)
    this.#readers.delete(one)
    if (one.turn !== undefined) this.endTurn(one)
    this.#starters.delete(one)
    this.requests -= one.requests
    this.requestBytes -= one.bytes
    this.replyBytes -= one.replyBytes
    this.expectedBytes -= one.expectedBytes
    this.wake()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** It wakes the others when it leaves. */
  #cutSlowest(): void {
    const [first, ...others] = this.connections
    if (first === undefined) return
    others.reduce((slowest, one) => (isSlower(one, slowest) ? one : slowest), first).cut()
  }

  get #turnsAreTaken(): boolean {
    return this.#turns >= this.limits.requestsPastBound
  }
}

/** Who has not read for longer, or as long and leaves more, is slower. */
function isSlower(one: ConnectionBackpressure, other: ConnectionBackpressure): boolean {
  return one.replyLag === other.replyLag ? one.replyBytes > other.replyBytes : one.replyLag > other.replyLag
}
