import type { FlowLimits } from './flow-limits.js'

/** A request from the time when all of it is there until it is answered. */
export interface RunningRequest {
  /** There are so many requests that this one is to be refused: it is not the only one of its connection. */
  readonly overloaded: boolean
  end(): void
}

/** What all connections have sent and not had answered. */
export class SharedInflow {
  readonly #limits: FlowLimits
  /** In the order in which they began to wait. */
  readonly #waiting = new Set<Inflow>()
  #bytes = 0
  #requests = 0
  /** The connection that may read one message past the bound, until that is answered. */
  #turn: Inflow | undefined

  constructor(limits: FlowLimits) {
    this.#limits = limits
  }

  get bytes(): number {
    return this.#bytes
  }

  get requests(): number {
    return this.#requests
  }

  /** Bytes and requests that came, or that went where they are negative. */
  count(bytes: number, requests: number): void {
    this.#bytes += bytes
    this.#requests += requests
  }

  /**
   * Whether a connection may read on. One that may not waits in line. While the bound is reached, those read on that have little
   * themselves, and of those in the middle of a message the first in line, to its end: so all get their turn, and memory has a
   * bound. Who is not in the middle of one has requests that run, and goes on when they are answered.
   */
  admits(one: Inflow): boolean {
    const free = this.#bytes < this.#limits.bytesInAll || one.bytes <= this.#limits.bytesReserved
    if (!free && one.partial > 0) this.#turn ??= one
    const admitted = free || (this.#turn === one && !one.turnTaken)
    if (admitted) this.#waiting.delete(one)
    else this.#waiting.add(one)
    return admitted
  }

  hasTurn(one: Inflow): boolean {
    return this.#turn === one
  }

  endTurn(): void {
    this.#turn = undefined
  }

  /** Lets in who may go on. */
  wake(): void {
    for (const one of this.#waiting) {
      if (this.#bytes >= this.#limits.bytesInAll && this.#turn !== undefined) return
      one.settle()
    }
  }

  leave(one: Inflow): void {
    this.#waiting.delete(one)
    if (this.#turn === one) this.#turn = undefined
  }
}

/**
 * What one connection has sent and not had answered: decides when to read on. What has come of a message that is not complete
 * counts, too, except for what came in one piece with the end of the message before.
 */
export class Inflow {
  readonly #limits: FlowLimits
  readonly #shared: SharedInflow
  readonly #setPaused: (paused: boolean) => void
  #partial = 0
  #running = 0
  #requests = 0
  /** Of the bound of replies that wait, 1 for all of it. */
  #replyLoad = 0
  #paused = false
  #closed = false
  #stopped = false
  /** Seconds for which the present message has been coming in. */
  #age = 0
  #turnTaken = false

  /** @param setPaused stops reading from the client, or goes on */
  constructor(limits: FlowLimits, shared: SharedInflow, setPaused: (paused: boolean) => void) {
    this.#limits = limits
    this.#shared = shared
    this.#setPaused = setPaused
  }

  get bytes(): number {
    return this.#partial + this.#running
  }

  /** Bytes of a message that is not complete. */
  get partial(): number {
    return this.#partial
  }

  get requests(): number {
    return this.#requests
  }

  get paused(): boolean {
    return this.#paused
  }

  /** Whether the message of its turn has come. */
  get turnTaken(): boolean {
    return this.#turnTaken
  }

  /** Bytes came off the network. */
  received(bytes: number): void {
    this.#setPartial(this.#partial + bytes)
    this.settle()
  }

  /** So many of these bytes were no part of a message. */
  discounted(bytes: number): void {
    this.#setPartial(Math.max(0, this.#partial - bytes))
    if (this.#partial > 0 || this.#turnTaken || !this.#shared.hasTurn(this)) return
    this.#shared.endTurn()
    this.#shared.wake()
  }

  /** A message is complete. */
  begin(bytes: number): RunningRequest {
    const overloaded = this.#requests > 0 && this.#shared.requests >= this.#limits.requestsInAll
    const inTurn = this.#shared.hasTurn(this) && !this.#turnTaken
    if (inTurn) this.#turnTaken = true
    this.#setPartial(0)
    this.#age = 0
    this.#count(bytes, 1)
    this.settle()
    return {
      overloaded,
      end: () => {
        if (this.#closed) return
        this.#count(-bytes, -1)
        if (inTurn) this.#endTurn()
        // Those in line go first.
        this.#shared.wake()
        this.settle()
      },
    }
  }

  /** How much of the bound of replies waits to be read by the client, 1 for all of it. */
  repliesWait(load: number): void {
    this.#replyLoad = load
    this.settle()
  }

  /**
   * Time goes by.
   * @returns whether the client takes too long to send a message that it has begun
   */
  tick(seconds: number): boolean {
    if (this.#partial === 0 || this.#paused) return false
    this.#age += seconds
    return this.#age > this.#limits.stallSeconds + this.#partial / this.#limits.slowestBytesPerSecond
  }

  /** Stops reading, or goes on. */
  settle(): void {
    if (this.#closed) return
    // Half is a distance from the bound that keeps the socket from being stopped and started for every message.
    const enough = this.#stopped || this.#load() >= (this.#paused ? 0.5 : 1)
    const paused = enough || !this.#shared.admits(this)
    if (paused === this.#paused) return
    this.#paused = paused
    this.#setPaused(paused)
  }

  /** Reads nothing more. */
  stop(): void {
    this.#stopped = true
    this.settle()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#shared.count(-this.bytes, -this.#requests)
    this.#shared.leave(this)
    this.#shared.wake()
  }

  /** How far the connection is towards the bound of its own that it is nearest to. Without a request one may always come. */
  #load(): number {
    const { requestsInFlight, bytesInFlight } = this.#limits
    const own = Math.max(this.#requests / requestsInFlight, this.bytes / bytesInFlight)
    return Math.max(this.#requests === 0 ? 0 : own, this.#replyLoad * 2)
  }

  #setPartial(bytes: number): void {
    if (this.#closed) return
    this.#shared.count(bytes - this.#partial, 0)
    this.#partial = bytes
  }

  #count(bytes: number, requests: number): void {
    this.#running += bytes
    this.#requests += requests
    this.#shared.count(bytes, requests)
  }

  #endTurn(): void {
    this.#turnTaken = false
    this.#shared.endTurn()
  }
}
