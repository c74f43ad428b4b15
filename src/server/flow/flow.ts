import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { FlowLimits } from './flow-limits.js'
import { Heartbeat } from './heartbeat.js'
import { Inflow, type PreparedRequest, SharedInflow } from './inflow.js'
import { Outflow, SharedOutflow } from './outflow.js'
import { ReplySizes } from './reply-sizes.js'

/** WebSocket close codes for clients that are too slow, or a nuisance. */
export const FlowCloseCode = { tooManyPings: 1008, repliesNotRead: 4008, requestTooSlow: 4009 } as const

const LONGEST_TICK_SECONDS = 1
/** Bytes that a client's frame has around the content of a ping or pong. */
const CONTROL_FRAME_BYTES = 6

/** Bytes and time of all connections of a server. Time is counted in ticks, so that neither clocks nor a busy thread shorten it. */
export class Flow {
  readonly limits: FlowLimits
  readonly inflow: SharedInflow
  readonly outflow: SharedOutflow
  readonly replySizes = new ReplySizes()
  readonly #connections = new Set<ConnectionFlow>()
  readonly #timer: NodeJS.Timeout

  constructor(limits: FlowLimits) {
    this.limits = limits
    this.inflow = new SharedInflow(limits)
    this.outflow = new SharedOutflow(limits)
    const seconds = Math.min(LONGEST_TICK_SECONDS, limits.pingSeconds / 4, limits.stallSeconds / 4)
    this.#timer = setInterval(() => {
      for (const connection of this.#connections) connection.tick(seconds)
    }, seconds * 1000)
    this.#timer.unref()
  }

  join(one: ConnectionFlow): void {
    this.#connections.add(one)
  }

  leave(one: ConnectionFlow): void {
    this.#connections.delete(one)
  }

  close(): void {
    clearInterval(this.#timer)
  }
}

/** Keeps one connection within the limits: stops reading where there is enough, and ends what is too slow or has vanished. */
export class ConnectionFlow {
  readonly #flow: Flow
  readonly #socket: WebSocket
  readonly #end: (code: number, reason: string, queuedBytes: number) => void
  readonly #inflow: Inflow
  readonly #outflow: Outflow
  readonly #heartbeat: Heartbeat
  #bytesRead = 0
  /** Pings whose pongs have not left. */
  #pings = 0

  /**
   * @param stream the stream below the socket
   * @param end ends the connection with a close code; told the bytes of replies that wait
   */
  constructor(
    flow: Flow,
    socket: WebSocket,
    stream: Duplex,
    end: (code: number, reason: string, queuedBytes: number) => void,
  ) {
    const { limits } = flow
    this.#flow = flow
    this.#socket = socket
    this.#end = end
    this.#outflow = new Outflow(limits, flow.outflow, () => socket.terminate())
    this.#inflow = new Inflow(limits, flow.inflow, this.#outflow, (paused) =>
      paused ? socket.pause() : socket.resume(),
    )
    this.#outflow.onRoom = () => this.#inflow.repliesMoved()
    this.#heartbeat = new Heartbeat(limits.pingSeconds)
    // Before the library takes them, so that a message which they complete ends the count.
    stream.prependListener('data', ({ length }: Buffer) => {
      this.#bytesRead += length
      this.#inflow.received(length)
    })
    const discount = ({ length }: Buffer) => this.#inflow.discounted(length + CONTROL_FRAME_BYTES)
    socket.on('ping', (content) => {
      discount(content)
      this.#answerPing(content)
    })
    socket.on('pong', discount)
    socket.on('close', () => this.#close())
    flow.join(this)
  }

  /** Requests that are not answered. */
  get requests(): number {
    return this.#inflow.requests
  }

  /** Bytes of replies that have not left. */
  get unsent(): number {
    return this.#outflow.bytes
  }

  /** Forgets the requests that have not begun. */
  discardHeld(): void {
    this.#inflow.discardHeld()
  }

  /** Reads no further request, and forgets those that have not begun. */
  stop(): void {
    this.#inflow.stop()
  }

  /**
   * A message of so many bytes is complete.
   *
   * @param prepare called when it may be carried out; in the order of arrival
   */
  arrived(bytes: number, prepare: () => PreparedRequest): void {
    this.#inflow.arrived(bytes, prepare)
  }

  /** A reply of so many bytes waits to be sent. */
  queued(bytes: number): void {
    this.#outflow.queued(bytes)
    this.#inflow.repliesMoved()
  }

  /** So many bytes of replies have left. */
  sent(bytes: number): void {
    this.#outflow.sent(bytes)
    this.#inflow.repliesMoved()
  }

  tick(seconds: number): void {
    const { stallSeconds, slowestBytesPerSecond } = this.#flow.limits
    if (this.#outflow.tick(seconds)) {
      this.#endWith('repliesNotRead', `replies were not read for ${stallSeconds} seconds and more`)
    }
    if (this.#inflow.tick(seconds)) {
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
    const { pingsPending } = this.#flow.limits
    if (this.#pings >= pingsPending) {
      this.#endWith('tooManyPings', `more than ${pingsPending} pings came before their pongs had left`)
      return
    }
    this.#pings++
    this.#socket.pong(content, false, () => this.#pings--)
  }

  #endWith(code: keyof typeof FlowCloseCode, reason: string): void {
    this.#end(FlowCloseCode[code], reason, this.#outflow.bytes)
  }

  #close(): void {
    this.#flow.leave(this)
    this.#inflow.close()
    this.#outflow.close()
  }
}
