import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { extname } from 'node:path'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { EngineGate } from '../gate/engine-gate.js'
import type { ReplyMemory } from '../reply-memory.js'
import { takeDescriptor } from './descriptor.js'
import { GateServer } from './gate-server.js'
import { Mailbox } from './mailbox.js'
import type { SocketThreadData, ToEngine, ToSockets } from './messages.js'

/** A connection that is in another thread. */
export interface AdoptedConnection {
  /** Resolves when it is over. */
  readonly closed: Promise<void>
  /** Waits until the requests that are running are answered, then ends it. */
  close(): Promise<void>
}

interface Options extends SocketThreadData {
  readonly gate: EngineGate
  readonly memory: ReplyMemory
  /** Gives a connection its number. */
  number(): number
  onWarning(message: string): void
}

/**
 * What serves a request is garbage once it is answered. With room for more of it there are fewer pauses to look for what is not, and those
 * are as short.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 96 }

/** One thread, as the engine's sees it. */
class SocketThread {
  readonly #worker: Worker
  readonly #outbox: Mailbox<ToSockets>
  readonly #server: GateServer
  readonly #closed = new Map<number, () => void>()
  #ended = false

  constructor({ gate, memory, token, limits, adapter, onWarning }: Options) {
    const workerData: SocketThreadData = { token, limits, adapter }
    this.#worker = new Worker(program(), { workerData, name: 'sockets', resourceLimits })
    this.#outbox = new Mailbox(this.#worker)
    this.#server = new GateServer(gate, memory, this.#outbox)
    this.#worker.on('message', (messages: readonly ToEngine[]) => this.#receive(messages))
    this.#worker.on('error', (error) => onWarning(`a thread for sockets failed: ${error.message}`))
    this.#worker.on('exit', () => this.#end())
  }

  /** Connections that it has. */
  get connections(): number {
    return this.#closed.size
  }

  /** Whether it is gone. */
  get ended(): boolean {
    return this.#ended
  }

  adopt(
    connection: number,
    descriptor: number,
    { method, headers }: IncomingMessage,
    head: Uint8Array,
  ): AdoptedConnection {
    const closed = new Promise<void>((resolve) => this.#closed.set(connection, resolve))
    this.#outbox.send({ kind: 'adopt', connection, descriptor, method, headers, head: head.slice() })
    return {
      closed,
      close: () => {
        this.#outbox.send({ kind: 'close', connection })
        return closed
      },
    }
  }

  async stop(): Promise<void> {
    await this.#worker.terminate()
  }

  async started(): Promise<void> {
    await once(this.#worker, 'online')
  }

  #receive(messages: readonly ToEngine[]): void {
    for (const message of messages) {
      if (message.kind !== 'closed') this.#server.receive(message)
      else {
        this.#closed.get(message.connection)?.()
        this.#closed.delete(message.connection)
      }
    }
  }

  #end(): void {
    this.#ended = true
    this.#server.end()
    for (const close of this.#closed.values()) close()
    this.#closed.clear()
  }
}

/**
 * Threads that do the work of sockets beside the engine's thread: framing, masking, decoding, encoding. Columns go between the
 * threads without being copied; small gets of a thread go together.
 */
export class SocketThreads {
  readonly #threads: readonly SocketThread[]
  readonly #number: () => number

  private constructor(threads: readonly SocketThread[], number: () => number) {
    this.#threads = threads
    this.#number = number
  }

  static async start(count: number, options: Options): Promise<SocketThreads> {
    const threads = Array.from({ length: count }, () => new SocketThread(options))
    await Promise.all(threads.map((thread) => thread.started()))
    return new SocketThreads(threads, () => options.number())
  }

  /**
   * Hands a connection that asks for a WebSocket to the thread that has the fewest.
   * @returns undefined where it cannot be handed over, and is as before
   */
  adopt(request: IncomingMessage, stream: Duplex, head: Uint8Array): AdoptedConnection | undefined {
    const idlest = this.#threads
      .filter(({ ended }) => !ended)
      .sort((a, b) => a.connections - b.connections)[0]
    const descriptor = idlest && takeDescriptor(stream)
    if (idlest === undefined || descriptor === undefined) return undefined
    return idlest.adopt(this.#number(), descriptor, request, head)
  }

  /** Ends the threads; what connections they still have is lost. */
  async stop(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.stop()))
  }
}

/** The thread's program: compiled, or its source where this one runs from its source. */
function program(): URL {
  return new URL(`socket-thread${extname(fileURLToPath(import.meta.url))}`, import.meta.url)
}
