import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { Connection } from '../connection.js'
import type { BusyPolling } from './busy-polling.js'
import { MessageBoundaries } from './message-boundaries.js'
import type { AdoptedConnection } from './socket-threads.js'

/** What comes in one piece of the network and is larger than this is more than a small request. */
const SMALL_BYTES = 16 * 1024
/** Replies of this size and more are worth a thread of their own. */
const LARGE_REPLY_BYTES = 64 * 1024

/** So many small messages at once are served here still: that the thread has to do with all of them costs less than the way to another. */
const MOST_AT_ONCE = 16
/** So many requests of other connections under way are company for one that comes: the engine's thread has enough to do. */
const COMPANY = 2
/** A message that has company, or comes with too many, weighs as much as so many others... */
const COMPANY_WEIGHT = 8
/** ...and at this weight a connection leaves, so that to be in company once in a while does no harm. */
const MOST_WEIGHT = 64

/** Milliseconds for which nothing is read of a connection that waits to leave until its requests are answered. */
const HOLD_MS = 20
/** Milliseconds until it is tried again, if they were not. */
const RETRY_MS = 1000

export interface ResidentOptions {
  readonly connection: Connection
  readonly socket: WebSocket
  /** The stream below the socket. */
  readonly stream: Duplex
  /** Requests of all connections that the engine has. */
  underWay(): number
  /** Where the thread is to be found awake by the next request; absent where it has better things to do. */
  readonly polling?: BusyPolling | undefined
  /**
   * Hands the connection to a thread.
   * @param head what was read of it and is not taken yet
   * @returns undefined where it cannot be handed over, and is as before
   */
  move(head: Uint8Array): AdoptedConnection | undefined
}

/**
 * A connection that is served in the engine's thread as long as it has little to ask, since the way to another thread and back takes
 * longer than all else that is done for a small request. As soon as it is busy it goes to a thread for sockets, for good: between
 * two messages, when none is under way. What has come by then of the next messages goes with it as it came.
 */
export class ResidentConnection {
  /** Resolves when it is over, wherever it is then. */
  readonly closed: Promise<void>
  readonly #options: ResidentOptions
  /** What takes the bytes that come: the library, and what counts them. */
  readonly #readers: readonly ((chunk: Uint8Array) => void)[]
  #boundaries = new MessageBoundaries()
  #weight = 0
  #bytesWritten = 0
  #leaving = false
  /** What has come since nothing is taken any more. */
  #held: Uint8Array[] | undefined
  #departure: Promise<void> | undefined
  #retryAt = 0
  #closing = false
  #adopted: AdoptedConnection | undefined

  constructor(options: ResidentOptions) {
    this.#options = options
    const { connection, stream } = options
    this.closed = connection.closed.then(() => this.#adopted?.closed)
    this.#readers = stream.listeners('data') as ((chunk: Uint8Array) => void)[]
    stream.removeAllListeners('data')
    stream.on('data', (chunk: Uint8Array) => this.#arrived(chunk))
  }

  /** Requests that are not answered; those of another thread are counted there. */
  get requests(): number {
    return this.#adopted === undefined ? this.#options.connection.requests : 0
  }

  /** Waits until the requests that are running are answered, then ends it. */
  async close(): Promise<void> {
    this.#closing = true
    await this.#departure
    await (this.#adopted ?? this.#options.connection).close()
  }

  #arrived(chunk: Uint8Array): void {
    if (this.#held !== undefined) {
      this.#hold(chunk)
      return
    }
    const { between } = this.#boundaries
    const ends = this.#boundaries.advance(chunk)
    this.#leaving ||= this.#isBusy(chunk, ends) && this.#mayLeave()
    const boundary = between ? 0 : ends[0]
    if (!this.#leaving || boundary === undefined) {
      this.#take(chunk)
      return
    }
    if (boundary > 0) this.#take(chunk.subarray(0, boundary))
    this.#held = []
    this.#hold(chunk.subarray(boundary))
    this.#departure = this.#leave()
  }

  #take(chunk: Uint8Array): void {
    const { stream, socket, polling } = this.#options
    // The library takes by itself what is left in a stream that has ended.
    if (stream.destroyed) return
    polling?.arrived()
    for (const read of this.#readers) read.call(stream, chunk)
    // Of a connection that is over the library takes nothing more, and lets what comes pass, but for these readers, which it does not know.
    if (socket.readyState !== socket.OPEN) stream.resume()
  }

  /** Another may have gone on with reading in the meantime. */
  #hold(chunk: Uint8Array): void {
    this.#held?.push(chunk)
    this.#options.stream.pause()
  }

  /** @param ends where messages end in what came */
  #isBusy(chunk: Uint8Array, ends: readonly number[]): boolean {
    const { stream, connection, underWay } = this.#options
    const { bytesWritten = 0 } = stream as Duplex & { readonly bytesWritten?: number }
    const replyBytes = bytesWritten - this.#bytesWritten
    this.#bytesWritten = bytesWritten
    const whole = ends.at(-1) === chunk.length
    if (!whole || chunk.length > SMALL_BYTES || replyBytes >= LARGE_REPLY_BYTES) return true
    const inCompany = underWay() - connection.requests >= COMPANY
    const accompanied = Math.max(0, ends.length - MOST_AT_ONCE) + (inCompany ? 1 : 0)
    this.#weight = Math.max(0, this.#weight + (accompanied === 0 ? -1 : accompanied * COMPANY_WEIGHT))
    return this.#weight >= MOST_WEIGHT
  }

  #mayLeave(): boolean {
    return !this.#closing && performance.now() >= this.#retryAt
  }

  async #leave(): Promise<void> {
    const { connection, stream, socket } = this.#options
    await withinMs(connection.drain(), HOLD_MS)
    if (connection.atRest && !this.#closing) {
      // What was read while nothing was taken comes here too, and is held.
      while (stream.read() !== null);
      this.#adopted = this.#options.move(Buffer.concat(this.#held ?? []))
    }
    if (this.#adopted !== undefined) return
    // A long request holds it up, or no thread takes it.
    const held = this.#held ?? []
    this.#held = undefined
    this.#leaving = false
    this.#retryAt = performance.now() + RETRY_MS
    this.#boundaries = new MessageBoundaries()
    for (const chunk of held) this.#arrived(chunk)
    if (!socket.isPaused) stream.resume()
  }
}

/** Resolves when the work is done, or after so many milliseconds. */
async function withinMs(work: Promise<void>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([work, late])
  clearTimeout(timer)
}
