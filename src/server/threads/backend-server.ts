import type { DataRequest, WireColumn, WireColumns } from '../../../protocol/data-request.js'
import { toWarpdexError, type WarpdexError } from '../../../protocol/errors.js'
import type { Sections } from '../../../protocol/frame.js'
import { IdMap } from '../../../protocol/id-map.js'
import { type Request, readRequest } from '../../../protocol/messages.js'
import { type Admission, type Backend, Call, type Reply, type Result, type Visit } from '../backend.js'
import { isReplyMemory, type LentMemory, type ReplyMemory } from '../reply-memory.js'
import type { BusyPolling } from './busy-polling.js'
import type { Mailbox } from './mailbox.js'
import type { ToEngine, ToListener } from './messages.js'

/** Pieces of this size and more are put where both threads can read them. */
const SHARED_BYTES = 64 * 1024

/**
 * With six, 64 clients that come at once have 9.6 in the fullest of eight threads, on average (9.1 with eight, 10.1 with four, 12 with none), and
 * eight clients 1.6.
 */
const MOST_REDIRECTIONS = 6

type Asked = Extract<ToEngine, { kind: 'admit' | 'visit' | 'call' | 'cancel' | 'release' | 'left' }>

interface Options {
  readonly backend: Backend
  readonly memory: ReplyMemory
  readonly outbox: Mailbox<ToListener>
  /** Of this thread. */
  readonly polling: BusyPolling
  /** Told of errors that are nobody's fault but the server's. */
  readonly onInternal: (error: WarpdexError) => void
  /** Whether the thread has more than its share of all connections. */
  readonly isCrowded: () => boolean
}

/** Serves a thread that listens, in the engine's: the other end of its `RemoteBackend`. */
export class BackendServer {
  readonly #options: Options
  readonly #calls = new IdMap<Call>()
  /** What gives the memory of replies back that have not left. */
  readonly #lent = new IdMap<() => void>()
  /** Connections of the thread. */
  readonly #connections = new Set<number>()
  #arriving = 0
  #ended = false

  constructor(options: Options) {
    this.#options = options
  }

  /** Connections that there are, or are about to be. */
  get connections(): number {
    return this.#connections.size + this.#arriving
  }

  /** Takes what the other thread asks. Calls reach the engine before this returns, so that they take effect in their order. */
  receive(message: Asked): void {
    const { backend, outbox } = this.#options
    if (message.kind === 'call') void this.#call(message)
    else if (message.kind === 'cancel') this.#calls.get(message.number)?.cancel()
    else if (message.kind === 'release') this.#lent.delete(message.number)?.()
    else if (message.kind === 'left') this.#left(message.connection)
    else if (message.kind === 'admit') void this.#admit(message)
    else {
      const { number, visit } = message
      void backend.visit(visit).then((answer) => outbox.send({ kind: 'answer', number, answer }))
    }
  }

  /** A reply could not be sent, which is its call's misfortune only. */
  unsent(message: ToListener, thrown: unknown): void {
    if (message.kind !== 'reply') throw thrown
    this.#lent.delete(message.number)?.()
    this.#refuse(message.number, thrown)
  }

  /** Gives everything back: the other thread is gone. */
  end(): void {
    this.#ended = true
    for (const call of this.#calls.values()) call.cancel()
    for (const giveBack of this.#lent.takeAll()) giveBack()
    for (const connection of this.#connections) this.#left(connection)
  }

  async #admit({ number, visit }: Extract<ToEngine, { kind: 'admit' }>): Promise<void> {
    const { backend, outbox, isCrowded } = this.#options
    this.#arriving++
    const admission = (isCrowded() ? redirection(visit) : undefined) ?? (await backend.admit(visit))
    this.#arriving--
    const { connection } = admission
    if (connection !== undefined) {
      if (this.#ended) return backend.left(connection)
      this.#connections.add(connection)
    }
    outbox.send({ kind: 'admitted', number, admission })
  }

  #left(connection: number): void {
    this.#connections.delete(connection)
    this.#options.backend.left(connection)
  }

  async #call(message: Extract<ToEngine, { kind: 'call' }>): Promise<void> {
    const { number, frame, checksums, connection, client } = message
    const { backend, polling } = this.#options
    // Where the CPU is the device it needs the core.
    if (!backend.adapter.software) polling.arrived()
    try {
      const call = new Call(withChecksums(readRequest(frame), checksums), frame, connection, client)
      this.#calls.set(number, call)
      this.#send(number, await backend.call(call))
    } catch (thrown) {
      this.#refuse(number, thrown)
    } finally {
      polling.answered()
      this.#calls.delete(number)
    }
  }

  #refuse(number: number, thrown: unknown): void {
    const error = toWarpdexError(thrown)
    const { code, message } = error
    if (code === 'INTERNAL') this.#options.onInternal(error)
    this.#options.outbox.send({ kind: 'refusal', number, code, message })
  }

  #send(number: number, { result, memory }: Reply): void {
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
    this.#options.outbox.send({ kind: 'reply', number, result: portable, lent })
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

/** The result with its columns where the other thread can read them. */
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

/** With a view of memory that is not shared all of that would be copied. */
function portable(bytes: Uint8Array, memory: LentMemory): Uint8Array {
  if (isReplyMemory(bytes)) return bytes
  if (bytes.byteLength < SHARED_BYTES) {
    return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice()
  }
  const copy = memory.allocate(bytes.byteLength)
  copy.set(bytes)
  return copy
}
