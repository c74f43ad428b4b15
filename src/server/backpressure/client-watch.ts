import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { Backpressure } from './backpressure.js'
import type { ConnectionBackpressure } from './connection-backpressure.js'
import { Heartbeat } from './heartbeat.js'

/** WebSocket close codes for clients that are too slow, or a nuisance. */
export const SlowCloseCode = { tooManyPings: 1008, repliesNotRead: 4008, requestTooSlow: 4009 } as const

/** Bytes that a client's frame has around the content of a ping or pong. */
const CONTROL_FRAME_BYTES = 6

/** Tells a connection's backpressure what comes off the network, answers pings, and ends what is too slow, a nuisance or gone. */
export class ClientWatch {
  readonly #all: Backpressure
  readonly #connection: ConnectionBackpressure
  readonly #socket: WebSocket
  readonly #end: (code: number, reason: string) => void
  readonly #heartbeat: Heartbeat
  #bytesRead = 0
  /** Pings whose pongs have not left. */
  #pings = 0

  /**
   * @param stream the stream below the socket
   * @param end ends the connection with a close code
   */
  constructor(
    all: Backpressure,
    connection: ConnectionBackpressure,
    socket: WebSocket,
    stream: Duplex,
    end: (code: number, reason: string) => void,
  ) {
    this.#all = all
    this.#connection = connection
    this.#socket = socket
    this.#end = end
    this.#heartbeat = new Heartbeat(all.limits.pingSeconds)
    // Before the library takes them, so that a message which they complete ends the count.
    stream.prependListener('data', ({ length }: Buffer) => {
      this.#bytesRead += length
      connection.received(length)
    })
    const discount = ({ length }: Buffer) => connection.discounted(length + CONTROL_FRAME_BYTES)
    socket.on('ping', (content) => {
      discount(content)
      this.#answerPing(content)
    })
    socket.on('pong', discount)
    socket.on('close', () => {
      all.watches.delete(this)
      connection.close()
    })
    all.watches.add(this)
  }

  tick(seconds: number): void {
    const { stallSeconds, slowestBytesPerSecond } = this.#all.limits
    const slowness = this.#connection.tick(seconds)
    if (slowness === 'repliesNotRead')
      this.#end(SlowCloseCode.repliesNotRead, `replies were not read for ${stallSeconds} seconds and more`)
    if (slowness === 'requestTooSlow') {
      const how = `slower than ${slowestBytesPerSecond} bytes a second for ${stallSeconds} seconds`
      this.#end(SlowCloseCode.requestTooSlow, `a request that had begun came ${how}`)
    }
    const verdict = this.#heartbeat.tick(seconds, this.#bytesRead, !this.#socket.isPaused)
    // A client whose requests are not read takes the server for gone unless it hears from it.
    const isAsked = verdict === 'ask' || this.#socket.isPaused
    if (isAsked && this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
    if (verdict === 'gone') this.#socket.terminate()
  }

  #answerPing(content: Buffer): void {
    const { pingsPending } = this.#all.limits
    if (this.#pings >= pingsPending) {
      this.#end(
        SlowCloseCode.tooManyPings,
        `more than ${pingsPending} pings came before their pongs had left`,
      )
      return
    }
    this.#pings++
    this.#socket.pong(content, false, () => this.#pings--)
  }
}
