import type { BackpressureLimits } from './backpressure-limits.js'

/** A request from the time when it begins until it is answered. */
export interface RunningRequest {
  /** There are so many requests that this one is to be refused: it is not the only one of its connection. */
  readonly overloaded: boolean
  end(): void
}

/** A request that can be carried out. */
export interface PreparedRequest {
  /** Bytes that its reply is expected to have. */
  readonly replyBytes: number
  /** Carries it out. */
  readonly start: (request: RunningRequest) => void
}

/** Room for the replies of one connection. */
export interface ReplyRoom {
  /** How much of the bound waits to be read by the client, 1 for all of it. */
  readonly load: number
  /** Takes room for a reply. @returns false where there is none */
  take(bytes: number): boolean
  /** Gives it back, once the reply waits to be sent. */
  giveBack(bytes: number): void
  /** There is nothing to take room for any more. */
  leaveLine(): void
}

/** A message that is complete, and has not begun to be carried out. */
interface HeldMessage {
  readonly bytes: number
  /** Whether its connection read it past the bound, in its turn. */
  readonly inTurn: boolean
  readonly prepare: () => PreparedRequest
  prepared?: PreparedRequest
}

/** What all connections have sent and not had answered. */
export class AllRequests {
  readonly #limits: BackpressureLimits
  /** In the order in which they began to wait. */
  readonly #waiting = new Set<RequestBackpressure>()
  #bytes = 0
  #requests = 0
  /** The connections that may each read one message past the bound, until that is answered. */
  readonly #turns = new Set<RequestBackpressure>()

  constructor(limits: BackpressureLimits) {
    this.#limits = limits
  }

  get bytes(): number {
    return this.#bytes
  }

  get requests(): number {
    return this.#requests
  }

  /** Whether there is somebody who may not read on. */
  get crowded(): boolean {
    return this.#waiting.size > 0
  }

  /** Bytes and requests that came, or that went where they are negative. */
  count(bytes: number, requests: number): void {
    this.#bytes += bytes
    this.#requests += requests
  }

  /**
   * Whether a connection may read on. One that may not waits in line. While the bound is reached, those read on that have little
   * themselves, and of those in the middle of a message the first few in line, to its end: so all get their turn, and memory has a
   * bound. Who is not in the middle of one has requests that run, and goes on when they are answered.
   */
  admits(one: RequestBackpressure): boolean {
    const free = this.#bytes < this.#limits.bytesInAll || one.bytes <= this.#limits.bytesReserved
    if (!free && one.partial > 0 && !this.#turnsAreTaken) this.#turns.add(one)
    const admitted = free || (this.hasTurn(one) && !one.turnTaken)
    if (admitted) this.#waiting.delete(one)
    else this.#waiting.add(one)
    return admitted
  }

  hasTurn(one: RequestBackpressure): boolean {
    return this.#turns.has(one)
  }

  endTurn(one: RequestBackpressure): void {
    this.#turns.delete(one)
  }

  /** Whoever has enough of its own does not wait for others. */
  leaveLine(one: RequestBackpressure): void {
    this.#waiting.delete(one)
  }

  /** Lets in who may go on. */
  wake(): void {
    for (const one of this.#waiting) {
      if (this.#bytes >= this.#limits.bytesInAll && this.#turnsAreTaken) return
      one.settle()
    }
  }

  leave(one: RequestBackpressure): void {
    this.leaveLine(one)
    this.endTurn(one)
  }

  get #turnsAreTaken(): boolean {
    return this.#turns.size >= this.#limits.requestsPastBound
  }
}

/**
 * What one connection has sent and not had answered: decides when to read on. What has come of a message that is not complete
 * counts, too, except for what came in one piece with the end of the message before.
 */
export class RequestBackpressure {
  readonly #limits: BackpressureLimits
  readonly #shared: AllRequests
  readonly #replies: ReplyRoom
  readonly #setPaused: (paused: boolean) => void
  readonly #held: HeldMessage[] = []
  #partial = 0
  /** Bytes of the messages that are complete. */
  #complete = 0
  #running = 0
  #paused = false
  #closed = false
  #stopped = false
  /** Bytes of the present message that came since the last tick. */
  #came = 0
  /** Whether it was read all the time since then. */
  #wasRead = true
  /** Seconds by which the present message lags behind the slowest client that is borne with. */
  #behind = 0
  /** Seconds of the present period of `stallSeconds` in which the message was read, and those that its bytes are worth at the slowest rate. */
  #period = { seconds: 0, worth: 0 }
  #turnTaken = false

  /** @param setPaused stops reading from the client, or goes on */
  constructor(
    limits: BackpressureLimits,
    shared: AllRequests,
    replies: ReplyRoom,
    setPaused: (paused: boolean) => void,
  ) {
    this.#limits = limits
    this.#shared = shared
    this.#replies = replies
    this.#setPaused = setPaused
  }

  get bytes(): number {
    return this.#partial + this.#complete
  }

  /** Bytes of a message that is not complete. */
  get partial(): number {
    return this.#partial
  }

  /** Messages that are complete and not answered. */
  get requests(): number {
    return this.#running + this.#held.length
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
    this.#came += bytes
    this.#setPartial(this.#partial + bytes)
    this.settle()
  }

  /** So many of these bytes were no part of a message. */
  discounted(bytes: number): void {
    this.#came = Math.max(0, this.#came - bytes)
    this.#setPartial(Math.max(0, this.#partial - bytes))
    if (this.#partial > 0 || this.#turnTaken || !this.#shared.hasTurn(this)) return
    this.#shared.endTurn(this)
    this.#shared.wake()
  }

  /**
   * A message is complete.
   *
   * @param prepare called when it may be carried out, now or when there is room: stopping to read does not stop what one piece of the
   * network brought
   */
  arrived(bytes: number, prepare: () => PreparedRequest): void {
    if (this.#closed) return
    const inTurn = this.#shared.hasTurn(this) && !this.#turnTaken
    if (inTurn) this.#turnTaken = true
    this.#setPartial(0)
    this.#came = 0
    this.#forgetLag()
    this.#complete += bytes
    this.#shared.count(bytes, 1)
    this.#held.push({ bytes, inTurn, prepare })
    this.#launch()
    this.settle()
  }

  /** There is more or less room for replies. */
  repliesMoved(): void {
    if (this.#closed) return
    this.#launch()
    this.settle()
  }

  /**
   * Time goes by. What came before is no excuse for who sends nothing now. While others wait for the room that its message takes, it also has
   * to be fast enough in each period of `stallSeconds`.
   * @returns whether the client takes too long to send a message that it has begun
   */
  tick(seconds: number): boolean {
    const { stallSeconds, slowestBytesPerSecond } = this.#limits
    const worth = this.#came / slowestBytesPerSecond
    const wasRead = this.#wasRead
    this.#came = 0
    this.#wasRead = !this.#paused
    if (this.#partial === 0) this.#forgetLag()
    else if (wasRead) {
      this.#behind = Math.max(0, this.#behind + seconds - worth)
      this.#period.seconds += seconds
      this.#period.worth += worth
    }
    return this.#behind > stallSeconds || this.#hasBeenSlow()
  }

  /** Whether a period is over in which too little came, and others wait. */
  #hasBeenSlow(): boolean {
    const { seconds, worth } = this.#period
    if (seconds < this.#limits.stallSeconds) return false
    this.#period = { seconds: 0, worth: 0 }
    return worth < seconds && this.#shared.crowded
  }

  #forgetLag(): void {
    this.#behind = 0
    this.#period = { seconds: 0, worth: 0 }
  }

  /** Stops reading, or goes on. */
  settle(): void {
    if (this.#closed) return
    // Half is a distance from the bound that keeps the socket from being stopped and started for every message.
    const enough = this.#stopped || this.#load() >= (this.#paused ? 0.5 : 1)
    if (enough) this.#shared.leaveLine(this)
    const paused = enough || !this.#shared.admits(this)
    if (paused === this.#paused) return
    this.#paused = paused
    if (paused) this.#wasRead = false
    this.#setPaused(paused)
  }

  /** Reads nothing more, and forgets the messages that have not begun. */
  stop(): void {
    this.#stopped = true
    this.discardHeld()
    this.settle()
  }

  /** Forgets the messages that have not begun. */
  discardHeld(): void {
    for (const { bytes, inTurn } of this.#held.splice(0)) {
      this.#complete -= bytes
      this.#shared.count(-bytes, -1)
      if (inTurn) this.#endTurn()
    }
    this.#replies.leaveLine()
    this.#shared.wake()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#shared.count(-this.bytes, -this.requests)
    this.#held.length = 0
    this.#shared.leave(this)
    this.#shared.wake()
  }

  #launch(): void {
    const { requestsInFlight, requestsInAll } = this.#limits
    while (this.#running < requestsInFlight) {
      const message = this.#held[0]
      if (message === undefined) return
      message.prepared ??= message.prepare()
      const { replyBytes, start } = message.prepared
      if (!this.#replies.take(replyBytes)) return
      this.#held.shift()
      const overloaded = this.#running > 0 && this.#shared.requests > requestsInAll
      this.#running++
      start({ overloaded, end: () => this.#ended(message, replyBytes) })
    }
  }

  #ended({ bytes, inTurn }: HeldMessage, replyBytes: number): void {
    this.#running--
    if (this.#closed) return
    this.#replies.giveBack(replyBytes)
    this.#complete -= bytes
    this.#shared.count(-bytes, -1)
    if (inTurn) this.#endTurn()
    // Those in line go first.
    this.#shared.wake()
    this.#launch()
    this.settle()
  }

  /** How far the connection is towards the bound of its own that it is nearest to. Without a request one may always come. */
  #load(): number {
    const { requestsInFlight, bytesInFlight } = this.#limits
    const own = Math.max(this.requests / requestsInFlight, this.bytes / bytesInFlight)
    return Math.max(this.requests === 0 ? 0 : own, this.#replies.load * 2)
  }

  #setPartial(bytes: number): void {
    if (this.#closed) return
    this.#shared.count(bytes - this.#partial, 0)
    this.#partial = bytes
  }

  #endTurn(): void {
    this.#turnTaken = false
    this.#shared.endTurn(this)
  }
}
