import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { Monitor } from '../../observe/monitor.js'
import type { Backend } from '../backend.js'
import { type Load, NO_LOAD, sumOf } from '../backpressure/backpressure.js'
import type { BackpressureLimits } from '../backpressure/backpressure-limits.js'
import type { ListenerOptions } from '../listener.js'
import type { ReplyMemory } from '../reply-memory.js'
import { BackendServer } from './backend-server.js'
import { BusyPolling } from './busy-polling.js'
import { Mailbox } from './mailbox.js'
import type { ListenerThreadData, ToEngine, ToListener } from './messages.js'

interface Options {
  readonly listener: ListenerOptions
  /** What bounds the connections of all threads together. */
  readonly limits: BackpressureLimits
  readonly backend: Backend
  readonly memory: ReplyMemory
  readonly monitor: Monitor
}

/** What one thread needs beside. */
interface ThreadOptions extends Options {
  /** Of the engine's thread. */
  readonly polling: BusyPolling
  readonly isCrowded: (thread: ListenerThread) => boolean
}

/**
 * What serves a request is garbage once it is answered, and much of it has memory outside of the heap: a pause takes as long as there
 * is room for more of it. With less than this the pauses are too many (measured, bench/results).
 */
const resourceLimits = { maxYoungGenerationSizeMb: 12 }

/** Before a thread takes the place of one that has ended, so that a fault which comes at once does not come without a pause. */
const RESTART_MS = 1000

/** One thread that listens, as the engine's sees it. */
class ListenerThread {
  readonly #worker: Worker
  readonly #outbox: Mailbox<ToListener>
  readonly #server: BackendServer
  readonly #monitor: Monitor
  /** Resolves with its port when it listens. */
  readonly listening: Promise<number>
  /** Resolves when it is gone. */
  readonly ended: Promise<void>
  load: Load = NO_LOAD
  #settle!: { readonly resolve: (port: number) => void; readonly reject: (error: WarpdexError) => void }
  #onClosed: () => void = () => {}
  #failed = false

  constructor({ listener, limits, backend, memory, monitor, polling, isCrowded }: ThreadOptions) {
    this.#monitor = monitor
    this.listening = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    const workerData: ListenerThreadData = { listener, limits }
    this.#worker = new Worker(program(), { workerData, name: 'listener', resourceLimits })
    this.#outbox = new Mailbox(this.#worker, (message, error) => this.#server.unsent(message, error))
    const onInternal = (error: WarpdexError) => monitor.failed(error)
    const outbox = this.#outbox
    this.#server = new BackendServer({
      backend,
      memory,
      outbox,
      polling,
      onInternal,
      isCrowded: () => isCrowded(this),
    })
    this.#worker.on('message', (messages: readonly ToEngine[]) => {
      for (const message of messages) this.#receive(message)
    })
    this.#worker.on('messageerror', ({ message }: Error) => this.tell({ kind: 'fail', message }))
    this.#worker.on('error', (error) => this.#fail(error, 'cut'))
    this.ended = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.#settle.reject(new WarpdexError('INTERNAL', 'a thread that listens ended before it did'))
        this.#onClosed()
        this.#server.end()
        this.load = NO_LOAD
        resolve()
      })
    })
  }

  get connections(): number {
    return this.#server.connections
  }

  /** Whether it takes connections. */
  get isSound(): boolean {
    return !this.#failed
  }

  tell(message: ToListener): void {
    this.#outbox.send(message)
  }

  /** Sees its clients out once their requests are answered, and ends it. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#onClosed = resolve
    })
    this.tell({ kind: 'close' })
    await closed
    await this.#worker.terminate()
  }

  #receive(message: ToEngine): void {
    switch (message.kind) {
      case 'listening':
        this.#settle.resolve(message.port)
        break
      case 'refused':
        this.#settle.reject(new WarpdexError(message.code, message.message))
        break
      case 'load':
        this.load = message.load
        if (message.counts !== undefined) this.#monitor.meters.add(message.counts)
        break
      case 'slowConsumer':
        this.#monitor.slowConsumer(message.queuedBytes)
        break
      case 'closed':
        this.#onClosed()
        break
      case 'failed':
        this.#fail(message, 'closed with code 1011')
        break
      default:
        this.#server.receive(message)
    }
  }

  #fail({ message, stack }: { message: string; stack?: string | undefined }, fate: string): void {
    this.#failed = true
    const lost = `its ${this.connections} connections are ${fate}, and another one takes its place`
    this.#monitor.warn(`a thread that listens failed: ${message}; ${lost}`, { stack })
  }
}

/**
 * Threads that listen on one port beside the engine's thread: framing, masking and backpressure of their connections are theirs. In the place of one
 * that ends another is started.
 *
 * The system spreads connections over the threads by chance. So a client that comes to a thread which has more than its share is redirected to the
 * same address, if it says that it follows: its next connection comes to any of them.
 */
export class ListenerThreads {
  readonly #options: Options
  readonly #threads = new Set<ListenerThread>()
  readonly #polling = new BusyPolling()
  #listener: ListenerOptions
  #begun = false
  #stopped = false

  /** @param shares into which the limits are cut: threads of the server that have connections */
  constructor(shares: number, options: Options) {
    this.#options = { ...options, limits: shareOf(options.limits, shares) }
    this.#listener = options.listener
  }

  /**
   * Starts the threads.
   * @returns the port
   * @throws WarpdexError `BAD_REQUEST` for an address that cannot be listened on; `stop` ends those that are there by then
   */
  async listen(count: number): Promise<number> {
    // The first one finds out the port.
    const port = await this.#start().listening
    const { address } = this.#listener
    if (address.path === undefined) this.#listener = { ...this.#listener, address: { ...address, port } }
    await Promise.all(Array.from({ length: count - 1 }, () => this.#start().listening))
    return port
  }

  /** The engine is there. */
  begin(): void {
    this.#begun = true
    const { adapter } = this.#options.backend
    for (const thread of this.#threads) thread.tell({ kind: 'begin', adapter })
  }

  /** What the connections of all threads take. */
  get load(): Load {
    return sumOf([...this.#threads].map(({ load }) => load))
  }

  /** Takes another certificate for connections from now on. */
  renew(tls: NonNullable<ListenerOptions['tls']>): void {
    this.#listener = { ...this.#listener, tls }
    for (const thread of this.#threads) thread.tell({ kind: 'renew', ...tls })
  }

  /** Sees all clients out once their requests are answered, and ends the threads. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all([...this.#threads].map((thread) => thread.close()))
  }

  #start(): ListenerThread {
    const thread = new ListenerThread({
      ...this.#options,
      listener: this.#listener,
      polling: this.#polling,
      isCrowded: ({ connections }) => connections > this.#share(),
    })
    this.#threads.add(thread)
    // Whoever starts it is told; later it is the end that counts.
    thread.listening.catch(() => {})
    if (this.#begun) thread.tell({ kind: 'begin', adapter: this.#options.backend.adapter })
    void thread.ended.then(() => {
      this.#threads.delete(thread)
      this.#startLater()
    })
    return thread
  }

  /** Connections of a thread if all had as many, or one less. */
  #share(): number {
    const sound = [...this.#threads].filter(({ isSound }) => isSound)
    return Math.ceil(sound.reduce((sum, { connections }) => sum + connections, 0) / sound.length)
  }

  #startLater(): void {
    setTimeout(() => {
      if (this.#stopped) return
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
