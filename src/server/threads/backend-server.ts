import type { EventEmitter } from 'node:events'
import type { Worker } from 'node:worker_threads'
import type { DataRequest, WireColumn, WireColumns } from '../../../protocol/data-request.js'
import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import type { Sections } from '../../../protocol/frame.js'
import { IdMap } from '../../../protocol/id-map.js'
import { type Request, readRequest } from '../../../protocol/messages.js'
import type { ClientFacts } from '../../observe/client-facts.js'
import type { Monitor } from '../../observe/monitor.js'
import { type Admission, type Backend, Call, type Reply, type Result, type Visit } from '../backend.js'
import { type Load, NO_LOAD } from '../backpressure/backpressure.js'
import { isReplyMemory, type LentMemory, type ReplyMemory } from '../reply-memory.js'
import type { BusyPolling } from './busy-polling.js'
import { Mailbox, ownMemory } from './mailbox.js'
import type { ToEngine, ToListener } from './messages.js'

/** Columns of this size and more are put where both threads can read them. */
const SHARED_BYTES = 64 * 1024

/**
 * With six, 64 clients that come at once have 9.6 in the fullest of eight threads, on average (9.1 with eight, 10.1 with four, 12 with none), and
 * eight clients 1.6.
 */
const MOST_REDIRECTIONS = 6

/** What a thread that listens is served by. */
export interface Served {
  readonly backend: Backend
  readonly memory: ReplyMemory
  readonly monitor: Monitor
}

interface Options extends Served {
  readonly worker: EventEmitter & Pick<Worker, 'postMessage'>
  /** Of the engine's thread. */
  readonly polling: BusyPolling
  /** Connections of each thread if all had as many; a client that comes to one with more is redirected. */
  readonly meanConnections: () => number
}

/** Serves a thread that listens, in the engine's: the other end of its `RemoteBackend`. */
export class BackendServer {
  readonly #options: Options
  readonly #outbox: Mailbox<ToListener>
  /** Resolves with the thread's port when it listens. */
  readonly listening: Promise<number>
  /** Resolves when the thread is gone. */
  readonly ended: Promise<void>
  readonly #calls = new IdMap<Call>()
  /** What gives the memory of replies back that have not left. */
  readonly #lent = new IdMap<() => void>()
  /** Those who want to know who the thread's clients are. */
  #onClients: ((clients: readonly ClientFacts[]) => void)[] = []
  /** Connections of the thread. */
  readonly #connections = new Set<number>()
  #arriving = 0
  #load: Load = NO_LOAD
  #settle!: { readonly resolve: (port: number) => void; readonly reject: (error: WarpdexError) => void }
  #failed = false
  #ended = false

  constructor(options: Options) {
    const { worker } = options
    this.#options = options
    this.#outbox = new Mailbox(worker, (message, thrown) => this.#unsent(message, thrown))
    this.listening = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    worker.on('message', (messages: readonly ToEngine[]) => {
      for (const message of messages) this.#receive(message)
    })
    worker.on('messageerror', ({ message }: Error) => this.tell({ kind: 'fail', message }))
    worker.on('error', (error: Error) => this.#fail(error, 'cut'))
    this.ended = new Promise((resolve) => {
      worker.on('exit', () => {
        this.#end()
        resolve()
      })
    })
  }

  /** Connections that there are, or are about to be. */
  get connections(): number {
    return this.#connections.size + this.#arriving
  }

  /** What they take, as the thread said last. */
  get load(): Load {
    return this.#load
  }

  /** Whether the thread takes connections. */
  get isSound(): boolean {
    return !this.#failed
  }

  /** The thread's clients; none where it ends. */
  clients(): Promise<readonly ClientFacts[]> {
    if (this.#ended) return Promise.resolve([])
    return new Promise((resolve) => {
      if (this.#onClients.push(resolve) === 1) this.tell({ kind: 'clients' })
    })
  }

  #tellClients(clients: readonly ClientFacts[]): void {
    for (const resolve of this.#onClients) resolve(clients)
    this.#onClients = []
  }

  tell(message: ToListener): void {
    this.#outbox.send(message)
  }

  /** Calls reach the engine before this returns, so that they take effect in their order. */
  #receive(message: ToEngine): void {
    const { backend, monitor } = this.#options
    switch (message.kind) {
      case 'call':
        void this.#call(message)
        break
      case 'cancel':
        this.#calls.get(message.number)?.cancel()
        break
      case 'release':
        this.#lent.delete(message.number)?.()
        break
      case 'admit':
        void this.#admit(message)
        break
      case 'left':
        this.#left(message.connection)
        break
      case 'visit':
        void backend.visit(message.visit).then((answer) => this.#answer(message.number, answer))
        break
      case 'load':
        this.#load = message.load
        if (message.counts !== undefined) monitor.meters.add(message.counts)
        break
      case 'clients':
        this.#tellClients(message.clients)
        break
      case 'answered':
        monitor.answered(message.request)
        break
      case 'slowConsumer':
        monitor.slowConsumer(message.queuedBytes)
        break
      case 'listening':
        this.#settle.resolve(message.port)
        break
      case 'refused':
        this.#settle.reject(new WarpdexError(message.code, message.message))
        break
      case 'failed':
        this.#fail(message, 'closed with code 1011')
    }
  }

  #answer(number: number, answer: Extract<ToListener, { kind: 'answer' }>['answer']): void {
    this.#outbox.send({ kind: 'answer', number, answer })
  }

  async #admit({ number, visit }: Extract<ToEngine, { kind: 'admit' }>): Promise<void> {
    const { backend, meanConnections } = this.#options
    this.#arriving++
    const isCrowded = this.connections > meanConnections()
    const admission = (isCrowded ? redirection(visit) : undefined) ?? (await backend.admit(visit))
    this.#arriving--
    const { connection } = admission
    if (connection !== undefined) {
      if (this.#ended) return backend.left(connection)
      this.#connections.add(connection)
    }
    this.#answer(number, admission)
  }

  #left(connection: number): void {
    this.#connections.delete(connection)
    this.#options.backend.left(connection)
  }

  async #call(message: Extract<ToEngine, { kind: 'call' }>): Promise<void> {
    const { number, frame, checksums, connection, client } = message
    const { backend, polling } = this.#options
    polling.arrived(backend.introduction.adapter)
    try {
      const call = new Call(withChecksums(readRequest(frame), checksums), frame, connection, client)
      this.#calls.set(number, call)
      this.#reply(number, await backend.call(call))
    } catch (thrown) {
      this.#refuse(number, thrown)
    } finally {
      polling.answered()
      this.#calls.delete(number)
    }
  }

  #reply(number: number, { result, memory, running }: Reply): void {
    const further = this.#options.memory.lend()
    const portable = portableResult(result, further)
    const lent = Object.values(portable.columns ?? portable.sections ?? {}).some(
      (column) => column !== undefined && isReplyMemory(column.bytes),
    )
    const giveBack = () => {
      memory?.release()
      further.release()
    }
    if (lent && !this.#ended) this.#lent.set(number, giveBack)
    else giveBack()
    this.#outbox.send({ kind: 'reply', number, result: portable, lent, running })
  }

  #refuse(number: number, thrown: unknown): void {
    const error = toWarpdexError(thrown)
    const { code, message, item, owner } = error
    if (code === 'INTERNAL') this.#options.monitor.failed(error)
    this.#outbox.send({ kind: 'refusal', number, code, message, item, owner })
  }

  /** A reply could not be sent, which is its call's misfortune only. */
  #unsent(message: ToListener, thrown: unknown): void {
    if (message.kind !== 'reply') throw thrown
    this.#lent.delete(message.number)?.()
    this.#refuse(message.number, thrown)
  }

  #fail({ message, stack }: { message: string; stack?: string | undefined }, fate: string): void {
    this.#failed = true
    const lost = `its ${this.connections} connections are ${fate}, and another one takes its place`
    this.#options.monitor.warn(`a thread that listens failed: ${message}; ${lost}`, { stack })
  }

  /** Gives everything back: the thread is gone. */
  #end(): void {
    this.#ended = true
    this.#settle.reject(new WarpdexError('INTERNAL', 'a thread that listens ended before it did'))
    this.#load = NO_LOAD
    this.#tellClients([])
    for (const call of this.#calls.values()) call.cancel()
    for (const giveBack of this.#lent.takeAll()) giveBack()
    for (const connection of this.#connections) this.#left(connection)
  }
}

/** For a client that says how often it was redirected, and may be once more. */
function redirection({ url }: Visit): Admission | undefined {
  const query = new URLSearchParams(url.split('?')[1])
  const times = query.get('redirected')
  if (times === null || !(Number(times) < MOST_REDIRECTIONS)) return undefined
  query.set('redirected', String(Number(times) + 1))
  return { status: 307, location: `?${query}` }
}

function withChecksums(
  request: Request,
  checksums: Extract<ToEngine, { kind: 'call' }>['checksums'],
): Request {
  if (checksums === undefined || !('handle' in request)) return request
  const { keys, payloads } = request.columns
  const columns: WireColumns = {
    ...request.columns,
    keys: keys && { ...keys, checksum: checksums.keys },
    payloads: payloads && { ...payloads, checksum: checksums.payloads },
  }
  return { ...request, columns } satisfies DataRequest
}

/** The result with its columns where the other thread can read them, the large ones in the memory. */
function portableResult(result: Result, memory: LentMemory): Result {
  const move = <T extends WireColumn>(columns: { readonly [name: string]: T | undefined }) =>
    Object.fromEntries(
      Object.entries(columns).map(([name, column]) => [name, column && portableColumn(column, memory)]),
    )
  if (result.columns !== undefined) return { columns: move(result.columns) }
  const { fields, sections } = result
  return sections === undefined ? { fields } : { fields, sections: move(sections) as Sections }
}

function portableColumn({ type, bytes, offsets }: WireColumn, memory: LentMemory): WireColumn {
  const moved = { type, bytes: portable(bytes, memory) }
  return offsets === undefined ? moved : { ...moved, offsets: portable(offsets, memory) }
}

function portable(bytes: Uint8Array, memory: LentMemory): Uint8Array {
  if (isReplyMemory(bytes)) return bytes
  if (bytes.byteLength < SHARED_BYTES) return ownMemory(bytes)
  const copy = memory.allocate(bytes.byteLength)
  copy.set(bytes)
  return copy
}
