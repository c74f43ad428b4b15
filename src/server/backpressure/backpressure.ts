import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { BackpressureLimits } from './backpressure-limits.js'
import { Heartbeat } from './heartbeat.js'
import type { Load } from './load.js'
import { AllReplies, ReplyBackpressure } from './reply-backpressure.js'
import { ReplySizes } from './reply-sizes.js'
import { AllRequests, type PreparedRequest, RequestBackpressure } from './request-backpressure.js'

/** WebSocket close codes for clients that are too slow, or a nuisance. */
export const BackpressureCloseCode = {
  tooManyPings: 1008,
  repliesNotRead: 4008,
  requestTooSlow: 4009,
} as const

const LONGEST_TICK_SECONDS = 1
/** Bytes that a client's frame has around the content of a ping or pong. */
const CONTROL_FRAME_BYTES = 6

/** Bytes and time of all connections of a server. Time is counted in ticks, so that neither clocks nor a busy thread shorten it. */
export class Backpressure {
  readonly limits: BackpressureLimits
  readonly requests: AllRequests
  readonly replies: AllReplies
  readonly replySizes = new ReplySizes()
  readonly #connections = new Set<ConnectionBackpressure>()
  readonly #timer: NodeJS.Timeout

  constructor(limits: BackpressureLimits) {
    this.limits = limits
    this.requests = new AllRequests(limits)
    this.replies = new AllReplies(limits)
    const seconds = Math.min(LONGEST_TICK_SECONDS, limits.pingSeconds / 4, limits.stallSeconds / 4)
    this.#timer = setInterval(() => {
      for (const connection of this.#connections) connection.tick(seconds)
    }, seconds * 1000)
    this.#timer.unref()
  }

  get load(): Load {
    const waiting = [...this.#connections].filter(({ requests }) => requests > 0)
    const { requests, replies } = this
    return {
      requests: requests.requests,
      requestBytes: requests.bytes,
      replyBytes: replies.bytes,
      waitingClients: waiting.length,
    }
  }

  join(one: ConnectionBackpressure): void {
    this.#connections.add(one)
  }

  leave(one: ConnectionBackpressure): void {
    this.#connections.delete(one)
  }

  close(): void {
    clearInterval(this.#timer)
  }
}

/** Keeps one connection within the limits: stops reading where there is enough, and ends what is too slow or has vanished. */
export class ConnectionBackpressure {
  readonly #backpressure: Backpressure
  readonly #socket: WebSocket
  readonly #end: (code: number, reason: string, queuedBytes: number) => void
  readonly #requests: RequestBackpressure
  readonly #replies: ReplyBackpressure
  readonly #heartbeat: Heartbeat
  #bytesRead = 0
  /** Pings whose pongs have not left. */
  #pings = 0

  /**
   * @param stream the stream below the socket
   * @param end ends the connection with a close code; told the bytes of replies that wait
   */
  constructor(
    backpressure: Backpressure,
    socket: WebSocket,
    stream: Duplex,
    end: (code: number, reason: string, queuedBytes: number) => void,
  ) {
    const { limits } = backpressure
    this.#backpressure = backpressure
    this.#socket = socket
    this.#end = end
    this.#replies = new ReplyBackpressure(limits, backpressure.replies, () => socket.terminate())
    this.#requests = new RequestBackpressure(limits, backpressure.requests, this.#replies, (paused) =>
      paused ? socket.pause() : socket.resume(),
    )
    this.#replies.onRoom = () => this.#requests.repliesMoved()
    this.#heartbeat = new Heartbeat(limits.pingSeconds)
    // Before the library takes them, so that a message which they complete ends the count.
    stream.prependListener('data', ({ length }: Buffer) => {
      this.#bytesRead += length
      this.#requests.received(length)
    })
    const discount = ({ length }: Buffer) => this.#requests.discounted(length + CONTROL_FRAME_BYTES)
    socket.on('ping', (content) => {
      discount(content)
      this.#answerPing(content)
    })
    socket.on('pong', discount)
    socket.on('close', () => this.#close())
    backpressure.join(this)
  }

  /** Requests that are not answered. */
  get requests(): number {
    return this.#requests.requests
  }

  /** Bytes of replies that have not left. */
  get unsent(): number {
    return this.#replies.bytes
  }

  /** Forgets the requests that have not begun. */
  discardHeld(): void {
    this.#requests.discardHeld()
  }

  /** Reads no further request, and forgets those that have not begun. */
  stop(): void {
    this.#requests.stop()
  }

  /**
   * A message of so many bytes is complete.
   *
   * @param prepare called when it may be carried out; in the order of arrival
   */
  arrived(bytes: number, prepare: () => PreparedRequest): void {
    this.#requests.arrived(bytes, prepare)
  }

  /** A reply of so many bytes waits to be sent. */
  queued(bytes: number): void {
    this.#replies.queued(bytes)
    this.#requests.repliesMoved()
  }

  /** So many bytes of replies have left. */
  sent(bytes: number): void {
    this.#replies.sent(bytes)
    this.#requests.repliesMoved()
  }

  tick(seconds: number): void {
    const { stallSeconds, slowestBytesPerSecond } = this.#backpressure.limits
    if (this.#replies.tick(seconds)) {
      this.#endWith('repliesNotRead', `replies were not read for ${stallSeconds} seconds and more`)
    }
    if (this.#requests.tick(seconds)) {
      this.#endWith(
        'requestTooSlow',
        `a request that had begun came slower than ${slowestBytesPerSecond} bytes a second for ${stallSeconds} seconds`,
      )
    }
    const verdict = this.#heartbeat.tick(seconds, this.#bytesRead, !this.#socket.isPaused)
    if (verdict === 'ask' && this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
    if (verdict === 'gone') this.#socket.terminate()
  }

  #answerPing(content: Buffer): void {
    const { pingsPending } = this.#backpressure.limits
    if (this.#pings >= pingsPending) {
      this.#endWith('tooManyPings', `more than ${pingsPending} pings came before their pongs had left`)
      return
    }
    this.#pings++
    this.#socket.pong(content, false, () => this.#pings--)
  }

  #endWith(code: keyof typeof BackpressureCloseCode, reason: string): void {
    this.#end(BackpressureCloseCode[code], reason, this.#replies.bytes)
  }

  #close(): void {
    this.#backpressure.leave(this)
    this.#requests.close()
    this.#replies.close()
  }
}
