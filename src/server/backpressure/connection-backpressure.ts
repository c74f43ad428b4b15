import type { Backpressure } from './backpressure.js'

/** A message that has come whole. */
export interface Message {
  readonly bytes: number
  /** Bytes that its reply is expected to have, once that was asked. */
  replyBytes?: number | undefined
  /** Whether it waits for changes: told once that was asked, too. */
  isWait?: boolean | undefined
}

/** What a connection does with its messages, in the order of their arrival. */
export interface MessageHandler<M extends Message> {
  /** Looks at a message that is next. @returns the bytes that its reply is expected to have */
  expect(message: M): number
  /**
   * Carries it out, and later says that it is answered.
   * @param overloaded there are so many requests that this one is to be refused: it is not the only one of its connection
   */
  begin(message: M, overloaded: boolean): void
  /** Stops reading from the client, or goes on. */
  pause(paused: boolean): void
  /** Ends the connection at once, since its replies take too much of what there is for all. */
  cut(): void
}

/** Why a client is sent away. */
export type Slowness = 'repliesNotRead' | 'requestTooSlow'

/**
 * What one connection has sent and not had answered, and what of its replies has not left: decides when to read on, when to begin a request,
 * and whether the client is too slow. What has come of a message that is not complete counts, too, except for what came in one piece with the
 * end of the message before.
 */
export class ConnectionBackpressure<M extends Message = Message> {
  readonly #all: Backpressure
  readonly #handler: MessageHandler<M>
  /** Messages that have not begun: stopping to read does not stop what one piece of the network brought. */
  readonly #held: M[] = []
  /** Bytes of a message that has not come whole. */
  partial = 0
  /** The same with those of messages that are not answered. */
  bytes = 0
  /** Messages that have come whole and are not answered. */
  requests = 0
  /** Of these, waits for changes that have begun: they have a bound of their own, so that feeds hold up no other requests. */
  waits = 0
  /** Its turn to read a message past the bound for all, until that is answered: the message, once it has come. */
  turn: Message | 'coming' | undefined
  /** Bytes of replies that have not left, and those that replies are expected to have that are being made. */
  replyBytes = 0
  expectedBytes = 0
  /** Seconds by which replies lag behind the slowest client that is borne with. */
  replyLag = 0
  /** The same of the message that is coming in. */
  #messageLag = 0
  /** Bytes that came of it, and bytes of replies that left, since the last tick. */
  #came = 0
  #sent = 0
  /** The present period of `stallSeconds`: how long the message was read in it, and what came of it. */
  #period = { seconds: 0, bytes: 0 }
  #paused = false
  /** Whether it was not paused since the last tick. */
  #wasRead = true
  #stopped = false
  #closed = false

  constructor(all: Backpressure, handler: MessageHandler<M>) {
    this.#all = all
    this.#handler = handler
    all.connections.add(this)
  }

  /** Bytes came off the network. */
  received(bytes: number): void {
    if (this.#closed) return
    this.#came += bytes
    this.partial += bytes
    this.#count(0, bytes, 0, 0)
    this.pauseOrResume()
  }

  /** So many of these bytes were no part of a message. */
  discounted(bytes: number): void {
    if (this.#closed) return
    this.#came = Math.max(0, this.#came - bytes)
    const less = Math.min(bytes, this.partial)
    this.partial -= less
    this.#count(0, -less, 0, 0)
    if (this.partial > 0 || this.turn !== 'coming') return
    this.#all.endTurn(this)
    this.#all.wake()
  }

  /** A message has come whole; it begins now, or when there is room. */
  arrived(message: M): void {
    if (this.#closed || this.#stopped) return
    if (this.turn === 'coming') this.turn = message
    this.#count(1, message.bytes - this.partial, 0, 0)
    this.partial = 0
    this.#came = 0
    this.#forgetLag()
    this.#held.push(message)
    this.proceed()
  }

  /** The reply to a message waits to be sent. @param bytes of the reply; 0 where there is none */
  answered(message: M, bytes: number): void {
    if (this.#closed) return
    this.#count(-1, -message.bytes, bytes, -(message.replyBytes ?? 0))
    if (message.isWait) this.waits--
    if (this.turn === message) this.#all.endTurn(this)
    // Those in line go first.
    this.#all.wake()
    this.proceed()
  }

  /** So many bytes of replies have left. */
  sent(bytes: number): void {
    if (this.#closed) return
    this.#sent += bytes
    this.#count(0, 0, -bytes, 0)
    this.#all.wake()
    this.proceed()
  }

  /** Begins what there is room for; then stops reading, or goes on. */
  proceed(): void {
    const { requestsInFlight, requestsInAll } = this.#all.limits
    for (let message = this.#held[0]; message !== undefined; message = this.#held[0]) {
      const running = this.requests - this.#held.length
      if (running - this.waits >= requestsInFlight) break
      message.replyBytes ??= this.#handler.expect(message)
      if (!this.#all.mayBegin(this, message.replyBytes)) break
      this.#count(0, 0, 0, message.replyBytes)
      this.#held.shift()
      if (message.isWait) this.waits++
      this.#handler.begin(message, running > 0 && this.#all.requests > requestsInAll)
    }
    this.pauseOrResume()
  }

  /** Stops reading, or goes on. */
  pauseOrResume(): void {
    if (this.#closed) return
    const { requestsInFlight, bytesInFlight, replyBytesQueued } = this.#all.limits
    // Without a request one may always come.
    const requests = this.requests - this.waits
    const own = requests === 0 ? 0 : Math.max(requests / requestsInFlight, this.bytes / bytesInFlight)
    const load = Math.max(own, (2 * this.replyBytes) / replyBytesQueued)
    // Half is a distance from the bound that keeps the socket from being stopped and started for every message.
    const isFull = this.#stopped || load >= (this.#paused ? 0.5 : 1)
    if (isFull) this.#all.leaveReaders(this)
    const paused = isFull || !this.#all.mayRead(this)
    if (paused === this.#paused) return
    this.#paused = paused
    if (paused) this.#wasRead = false
    this.#handler.pause(paused)
  }

  /**
   * Time goes by. What came before is no excuse for who sends nothing now. While others wait for the room that its message takes, it also has
   * to be fast enough in each period of `stallSeconds`.
   * @returns whether the client does not read or does not send, or slower than is borne with for long
   */
  tick(seconds: number): Slowness | undefined {
    const { stallSeconds, slowestBytesPerSecond } = this.#all.limits
    const later = (lag: number, bytes: number) => Math.max(0, lag + seconds - bytes / slowestBytesPerSecond)
    this.replyLag = this.replyBytes === 0 ? 0 : later(this.replyLag, this.#sent)
    if (this.partial === 0) this.#forgetLag()
    else if (this.#wasRead) {
      this.#messageLag = later(this.#messageLag, this.#came)
      this.#period.seconds += seconds
      this.#period.bytes += this.#came
    }
    this.#sent = 0
    this.#came = 0
    this.#wasRead = !this.#paused
    if (this.replyLag > stallSeconds) return 'repliesNotRead'
    return this.#messageLag > stallSeconds || this.#hasBeenSlow() ? 'requestTooSlow' : undefined
  }

  /** Reads no further request, and forgets those that have not begun. */
  stop(): void {
    if (this.#closed) return
    this.#stopped = true
    for (const message of this.#held.splice(0)) {
      this.#count(-1, -message.bytes, 0, 0)
      if (this.turn === message) this.#all.endTurn(this)
    }
    this.#all.leaveStarters(this)
    this.#all.wake()
    this.pauseOrResume()
  }

  cut(): void {
    this.close()
    this.#handler.cut()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#held.length = 0
    this.#all.leave(this)
  }

  /** Counts what came, or went where it is negative, of its own and of all. */
  #count(requests: number, bytes: number, replyBytes: number, expectedBytes: number): void {
    const all = this.#all
    this.requests += requests
    all.requests += requests
    this.bytes += bytes
    all.requestBytes += bytes
    this.replyBytes += replyBytes
    all.replyBytes += replyBytes
    this.expectedBytes += expectedBytes
    all.expectedBytes += expectedBytes
  }

  /** Whether a period is over in which too little came, and others wait. */
  #hasBeenSlow(): boolean {
    const { stallSeconds, slowestBytesPerSecond } = this.#all.limits
    const { seconds, bytes } = this.#period
    if (seconds < stallSeconds) return false
    this.#period = { seconds: 0, bytes: 0 }
    return bytes < seconds * slowestBytesPerSecond && this.#all.crowded
  }

  #forgetLag(): void {
    this.#messageLag = 0
    this.#period = { seconds: 0, bytes: 0 }
  }
}
