import { extname } from 'node:path'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { toWarpdexError } from '../../../protocol/errors.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { Monitor } from '../../observe/monitor.js'
import type { Grant } from '../access/access.js'
import { Rights } from '../access/rights.js'
import type { FlowLimits } from '../flow/flow-limits.js'
import type { EngineGate } from '../gate/engine-gate.js'
import type { ReplyMemory } from '../reply-memory.js'
import { takeDescriptor } from './descriptor.js'
import { GateServer } from './gate-server.js'
import { Mailbox } from './mailbox.js'
import type { SocketThreadData, ToEngine, ToSockets } from './messages.js'
import { type Load, ThreadLoad } from './thread-load.js'

/** A connection that is in another thread. */
export interface AdoptedConnection {
  /** Resolves when it is over. */
  readonly closed: Promise<void>
  /** Waits until the requests that are running are answered, then ends it. */
  close(): Promise<void>
}

interface Options {
  readonly gate: EngineGate
  readonly memory: ReplyMemory
  /** What bounds the connections of all threads together. */
  readonly limits: FlowLimits
  readonly monitor: Monitor
}

/**
 * What serves a request is garbage once it is answered, and much of it has memory outside of the heap: a pause takes as long as there
 * is room for more of it. With less than this the pauses are too many (measured, bench/results).
 */
const resourceLimits = { maxYoungGenerationSizeMb: 12 }

/** Before a thread takes the place of one that has ended, so that a fault which comes at once does not come without a pause. */
const RESTART_MS = 1000

/** A connection of a thread, as the engine's thread knows it. */
interface Held {
  readonly grant: Grant
  readonly onClosed: () => void
}

/** One thread, as the engine's sees it. */
class SocketThread {
  readonly #worker: Worker
  readonly #outbox: Mailbox<ToSockets>
  readonly #server: GateServer
  readonly #load = new ThreadLoad()
  readonly #monitor: Monitor
  readonly #held = new Map<number, Held>()
  /** Who waits for it to have caught up, by number. */
  readonly #awaited = new Map<number, () => void>()
  #nextNumber = 0
  /** Resolves when it takes connections. */
  readonly ready: Promise<void>
  /** Resolves when it is gone. */
  readonly ended: Promise<void>
  #onReady: () => void = () => {}
  #takesConnections = false

  constructor({ gate, memory, limits, monitor }: Options) {
    this.#monitor = monitor
    this.ready = new Promise((resolve) => {
      this.#onReady = resolve
    })
    const workerData: SocketThreadData = { limits, adapter: gate.adapter, load: this.#load.memory }
    this.#worker = new Worker(program(), { workerData, name: 'sockets', resourceLimits })
    this.#outbox = new Mailbox(this.#worker, (message, error) => this.#server.unsent(message, error))
    const rightsOf = (connection: number) => this.#held.get(connection)?.grant.rights ?? Rights.none
    this.#server = new GateServer(gate, memory, this.#outbox, rightsOf, (error) => monitor.failed(error))
    this.#worker.on('message', (messages: readonly ToEngine[]) => this.#receive(messages))
    this.#worker.on('messageerror', ({ message }: Error) => this.#outbox.send({ kind: 'fail', message }))
    this.#worker.on('error', (error) => this.#failed(error, 'cut'))
    this.ended = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.#end()
        resolve()
      })
    })
  }

  /** Connections that it has. */
  get connections(): number {
    return this.#held.size
  }

  /** What they take. */
  get load(): Load {
    return this.#load.get()
  }

  /** Whether it takes further ones. */
  get takesConnections(): boolean {
    return this.#takesConnections
  }

  adopt(
    connection: number,
    descriptor: number,
    head: Uint8Array,
    grant: Grant,
    client: string | undefined,
  ): AdoptedConnection {
    const closed = new Promise<void>((onClosed) => this.#held.set(connection, { grant, onClosed }))
    const { who, rights } = grant
    const { rules } = rights
    this.#outbox.send({
      kind: 'adopt',
      connection,
      who,
      rules,
      descriptor,
      client,
      head: new Uint8Array(head),
    })
    return {
      closed,
      close: () => {
        this.#outbox.send({ kind: 'close', connection })
        return closed
      },
    }
  }

  /** Tells it what its connections may do now; resolves when it goes by that. */
  renewRights(): Promise<void> {
    for (const [connection, { grant }] of this.#held) {
      this.#outbox.send({ kind: 'rights', connection, rules: grant.rights.rules })
    }
    const number = this.#nextNumber++
    this.#outbox.send({ kind: 'catchUp', number })
    return new Promise((resolve) => this.#awaited.set(number, resolve))
  }

  async stop(): Promise<void> {
    await this.#worker.terminate()
  }

  #receive(messages: readonly ToEngine[]): void {
    for (const message of messages) {
      if (message.kind === 'ready') this.#begin()
      else if (message.kind === 'counted') this.#monitor.meters.add(message.counts)
      else if (message.kind === 'slowConsumer') this.#monitor.slowConsumer(message.queuedBytes)
      else if (message.kind === 'caughtUp') this.#caughtUp(message.number)
      else if (message.kind === 'failed') this.#failed(message, 'closed with code 1011')
      else if (message.kind !== 'closed') this.#server.receive(message)
      else {
        this.#server.left(message.connection)
        this.#held.get(message.connection)?.onClosed()
        this.#held.delete(message.connection)
      }
    }
  }

  #caughtUp(number: number): void {
    this.#awaited.get(number)?.()
    this.#awaited.delete(number)
  }

  #begin(): void {
    this.#takesConnections = true
    this.#onReady()
  }

  #failed({ message, stack }: { message: string; stack?: string | undefined }, fate: string): void {
    this.#takesConnections = false
    const lost = `its ${this.#held.size} connections are ${fate}, and another one takes its place`
    this.#monitor.warn(`a thread for sockets failed: ${message}; ${lost}`, { stack })
  }

  #end(): void {
    this.#takesConnections = false
    for (const number of [...this.#awaited.keys()]) this.#caughtUp(number)
    this.#onReady()
    this.#server.end()
    for (const connection of this.#held.keys()) this.#server.left(connection)
    for (const { onClosed } of this.#held.values()) onClosed()
    this.#held.clear()
  }
}

/**
 * Threads that do the work of sockets beside the engine's thread: framing, masking, decoding, encoding. Columns go between the
 * threads without being copied; small gets of a thread go together. In the place of one that ends another is started.
 */
export class SocketThreads {
  readonly #options: Options
  readonly #threads = new Set<SocketThread>()
  #stopped = false

  private constructor(options: Options) {
    this.#options = options
  }

  static async start(count: number, options: Options): Promise<SocketThreads> {
    const all = new SocketThreads({ ...options, limits: shareOf(options.limits, count) })
    try {
      for (let i = 0; i < count; i++) all.#start()
    } catch (error) {
      await all.stop()
      throw error
    }
    await Promise.all([...all.#threads].map(({ ready }) => ready))
    return all
  }

  /**
   * Hands a WebSocket that is between two messages to the thread that has the fewest.
   *
   * @param head what was read of the messages that come next
   * @param handOver called when it is handed over; returns the client's name
   * @returns undefined where it cannot be handed over, and is as before
   */
  adopt(
    connection: number,
    stream: Duplex,
    head: Uint8Array,
    grant: Grant,
    handOver: () => string | undefined,
  ): AdoptedConnection | undefined {
    const idlest = [...this.#threads]
      .filter(({ takesConnections }) => takesConnections)
      .sort((a, b) => a.connections - b.connections)[0]
    const descriptor = idlest && takeDescriptor(stream)
    if (idlest === undefined || descriptor === undefined) return undefined
    return idlest.adopt(connection, descriptor, head, grant, handOver())
  }

  /** What the connections of all threads take. */
  get load(): Load {
    const loads = [...this.#threads].map(({ load }) => load)
    const sum = (figure: keyof Load) => loads.reduce((total, load) => total + load[figure], 0)
    return {
      requests: sum('requests'),
      requestBytes: sum('requestBytes'),
      replyBytes: sum('replyBytes'),
      waitingClients: sum('waitingClients'),
    }
  }

  /** Tells the threads what their connections may do now; resolves when all go by that. */
  async renewRights(): Promise<void> {
    await Promise.all([...this.#threads].map((thread) => thread.renewRights()))
  }

  /** Ends the threads; what connections they still have is lost. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all([...this.#threads].map((thread) => thread.stop()))
  }

  #start(): void {
    const thread = new SocketThread(this.#options)
    this.#threads.add(thread)
    void thread.ended.then(() => {
      this.#threads.delete(thread)
      this.#startLater()
    })
  }

  #startLater(): void {
    const start = () => {
      if (this.#stopped) return
      try {
        this.#start()
      } catch (error) {
        this.#options.monitor.warn(`no thread for sockets could be started: ${toWarpdexError(error).message}`)
        this.#startLater()
      }
    }
    setTimeout(start, RESTART_MS).unref()
  }
}

/** What is for all connections together is shared out to the threads, which know nothing of each other. */
function shareOf(limits: FlowLimits, threads: number): FlowLimits {
  const share = (most: number) => Math.ceil(most / Math.max(1, threads))
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
  return new URL(`socket-thread${extname(fileURLToPath(import.meta.url))}`, import.meta.url)
}
