import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { toWarpdexError } from '../../../protocol/errors.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { ClientFacts } from '../../observe/client-facts.js'
import { type Load, sumOf } from '../backpressure/backpressure.js'
import type { BackpressureLimits } from '../backpressure/backpressure-limits.js'
import type { ListenerOptions } from '../listener.js'
import { BackendServer, type Served } from './backend-server.js'
import { BusyPolling } from './busy-polling.js'
import type { ListenerThreadData } from './messages.js'

interface Options extends Served {
  readonly listener: ListenerOptions
  /** How many threads there are. */
  readonly count: number
  /** What bounds the connections of the whole server, and the threads of it that have some. */
  readonly limits: BackpressureLimits
  readonly shares: number
}

/**
 * What serves a request is garbage once it is answered, and much of it has memory outside of the heap: a pause takes as long as there
 * is room for more of it. With less than this the pauses are too many (measured, bench/results).
 */
const resourceLimits = { maxYoungGenerationSizeMb: 12 }

/** Before a thread takes the place of one that has ended, so that a fault which comes at once does not come without a pause. */
const RESTART_MS = 1000

/**
 * Threads that listen on one port beside the engine's thread: framing, masking and backpressure of their connections are theirs. In the place of one
 * that ends another is started.
 *
 * The system spreads connections over the threads by chance. So a client that comes to a thread which has more than its share is redirected to the
 * same address, if it says that it follows: its next connection comes to any of them.
 */
export class ListenerThreads {
  readonly #options: Options
  readonly #threads = new Set<BackendServer>()
  readonly #polling = new BusyPolling()
  #listener: ListenerOptions
  #closed = false

  constructor(options: Options) {
    this.#options = { ...options, limits: shareOf(options.limits, options.shares) }
    this.#listener = { ...options.listener, shared: options.count > 1 }
  }

  /**
   * Starts the threads.
   * @returns the port
   * @throws WarpdexError `BAD_REQUEST` for an address that cannot be listened on; `close` ends those that are there by then
   */
  async listen(): Promise<number> {
    // The first one finds out the port.
    const port = await this.#start().listening
    const { address } = this.#listener
    if (address.path === undefined) this.#listener = { ...this.#listener, address: { ...address, port } }
    const others = this.#options.count - 1
    await Promise.all(Array.from({ length: others }, () => this.#start().listening))
    return port
  }

  /** What the connections of all threads take. */
  get load(): Load {
    return sumOf([...this.#threads].map(({ load }) => load))
  }

  async clients(): Promise<readonly ClientFacts[]> {
    return (await Promise.all([...this.#threads].map((thread) => thread.clients()))).flat()
  }

  /** Takes another certificate for connections from now on. */
  renew(tls: NonNullable<ListenerOptions['tls']>): void {
    this.#listener = { ...this.#listener, tls }
    for (const thread of this.#threads) thread.tell({ kind: 'renew', ...tls })
  }

  /** Sees all clients out once their requests are answered, and ends the threads. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(
      [...this.#threads].map((thread) => {
        thread.tell({ kind: 'close' })
        return thread.ended
      }),
    )
  }

  #start(): BackendServer {
    const { limits, monitor } = this.#options
    const { threshold } = monitor
    const workerData: ListenerThreadData = { listener: this.#listener, limits, threshold }
    const thread = new BackendServer({
      ...this.#options,
      worker: new Worker(program(), { workerData, name: 'listener', resourceLimits }),
      polling: this.#polling,
      meanConnections: () => this.#meanConnections,
    })
    this.#threads.add(thread)
    // Whoever starts it is told; later it is the end that counts.
    thread.listening.catch(() => {})
    void thread.ended.then(() => {
      this.#threads.delete(thread)
      this.#startLater()
    })
    return thread
  }

  /** Connections of a thread if all had as many, rounded up. */
  get #meanConnections(): number {
    const sound = [...this.#threads].filter(({ isSound }) => isSound)
    return Math.ceil(sound.reduce((sum, { connections }) => sum + connections, 0) / sound.length)
  }

  #startLater(): void {
    setTimeout(() => {
      if (this.#closed) return
      const failed = (error: unknown) => {
        const { message } = toWarpdexError(error)
        this.#options.monitor.warn(`no thread that listens could be started: ${message}`)
      }
      try {
        this.#start().listening.catch(failed)
      } catch (error) {
        failed(error)
        this.#startLater()
      }
    }, RESTART_MS).unref()
  }
}

/** What is for all connections together is shared out to the threads, which know nothing of each other. */
function shareOf(limits: BackpressureLimits, threads: number): BackpressureLimits {
  const share = (most: number) => Math.ceil(most / threads)
  return {
    ...limits,
    requestsInAll: share(limits.requestsInAll),
    bytesInAll: share(limits.bytesInAll),
    requestsPastBound: share(limits.requestsPastBound),
    // The largest reply must fit.
    replyBytesInAll: Math.max(
      share(limits.replyBytesInAll),
      Math.min(limits.replyBytesInAll, LIMITS.frameBytes),
    ),
  }
}

/** The thread's program: compiled, or its source where this one runs from its source. */
function program(): URL {
  return new URL(`listener-thread${extname(fileURLToPath(import.meta.url))}`, import.meta.url)
}
