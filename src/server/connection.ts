import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { asBytes } from '../../protocol/columns.js'
import { encodeDataReply } from '../../protocol/data-frame.js'
import type { DataOp } from '../../protocol/data-request.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { encodeFrame, FrameError, framePieces, PROTOCOL_VERSION } from '../../protocol/frame.js'
import { IdMap } from '../../protocol/id-map.js'
import { LIMITS } from '../../protocol/limits.js'
import { type ControlRequest, type Request, readRequest } from '../../protocol/messages.js'
import { errorHeader, type ReplyFields, replyHeader } from '../../protocol/replies.js'
import type { RequestMeter, ServerMeter } from '../observe/meter.js'
import { VERSION } from '../version.js'
import { type Backend, Cancellation, type FieldsResult, type Reply, type Result } from './backend.js'
import {
  type Backpressure,
  BackpressureCloseCode,
  ConnectionBackpressure,
} from './backpressure/backpressure.js'
import type { ReplyExpectation } from './backpressure/reply-sizes.js'
import type { PreparedRequest, RunningRequest } from './backpressure/request-backpressure.js'
import { isReplyMemory } from './reply-memory.js'
import { bytesOf, type OutgoingMessage, ReplySender } from './reply-sender.js'

/** WebSocket close code of a server that is shutting down. */
const GOING_AWAY = 1001

/** WebSocket close code of a fault of the server's own. */
const INTERNAL_ERROR = 1011

/** Approximate size of an error reply. */
const ERROR_BYTES = 1024

/** How long a client has to take note of the end of its connection. */
const CLOSE_GRACE_MS = 2000

export interface ConnectionContext {
  readonly backend: Backend
  /** The connection's number, as the backend gave it. */
  readonly number: number
  readonly backpressure: Backpressure
  readonly meter: ServerMeter
}

/** A message as a request, or as what is wrong with it. */
type Message =
  | { readonly request: Request; readonly frame: Uint8Array; readonly milliseconds: number }
  | { readonly request?: undefined; readonly id: number | null; readonly error: WarpdexError }

/** The reply to a request, and whether it is no error. */
interface Answer {
  readonly outgoing: Omit<OutgoingMessage, 'order'>
  readonly ok: boolean
}

/** One client's connection: from frames to requests, and from results to frames. */
export class Connection {
  /** Resolves when the connection has closed. */
  readonly closed: Promise<void>
  readonly #socket: WebSocket
  readonly #context: ConnectionContext
  readonly #sender: ReplySender
  readonly #backpressure: ConnectionBackpressure
  /** Requests that the engine has, by id. A cancelled one is dropped when its turn comes. */
  readonly #running = new IdMap<Cancellation>()
  #client: string | undefined
  /** Requests that have begun. */
  #arrived = 0
  #whenIdle: (() => void)[] = []
  #ending: Promise<void> | undefined

  /** @param stream the stream below the socket */
  constructor(socket: WebSocket, stream: Duplex, context: ConnectionContext) {
    this.#socket = socket
    this.#context = context
    this.#backpressure = new ConnectionBackpressure(
      context.backpressure,
      socket,
      stream,
      (code, reason, queuedBytes) => {
        if (code === BackpressureCloseCode.repliesNotRead) context.meter.slowConsumer(queuedBytes)
        void this.#end(code, reason)
      },
    )
    this.#sender = new ReplySender(socket, stream, (bytes) => this.#backpressure.sent(bytes))
    // As a plain array: a Buffer's `slice` is no copy, which those who get its columns need not know.
    socket.on('message', (data: Buffer, binary: boolean) => {
      this.#backpressure.arrived(data.byteLength, () => this.#prepare(asBytes(data), binary))
    })
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.#abandon()
        context.backend.left(context.number)
        this.#becomeIdle()
        resolve()
      })
    })
    // A broken connection is closed by the library, and there is nobody left to tell.
    socket.on('error', () => {})
  }

  /** Requests that are not answered. */
  get requests(): number {
    return this.#backpressure.requests
  }

  /** Waits until the requests that are running are answered, forgets those that have not begun, then ends the connection. */
  async close(): Promise<void> {
    this.#backpressure.stop()
    await this.#idle()
    this.#sender.flush()
    await this.#end(GOING_AWAY, 'the server is shutting down')
  }

  /** Ends it as it is: what serves it can serve no more. */
  fail(): Promise<void> {
    return this.#end(INTERNAL_ERROR, 'the server failed; connect again')
  }

  #prepare(data: Uint8Array, binary: boolean): PreparedRequest {
    const message = readMessage(data, binary)
    const { request } = message
    const expected = request && this.#context.backpressure.replySizes.expect(request)
    return {
      replyBytes: expected?.bytes ?? ERROR_BYTES,
      start: (running) => this.#receive(message, data.byteLength, expected, running),
    }
  }

  #receive(
    message: Message,
    bytes: number,
    expected: ReplyExpectation | undefined,
    { overloaded, end }: RunningRequest,
  ): void {
    const order = this.#arrived++
    const answered = (answer: Answer | undefined) => {
      if (answer !== undefined) {
        const { outgoing, ok } = answer
        if (ok && expected !== undefined)
          this.#context.backpressure.replySizes.learn(expected, bytesOf(outgoing))
        this.#send({ ...outgoing, order })
      }
      end()
      if (this.#backpressure.requests === 0) this.#becomeIdle()
    }
    if (this.#socket.readyState !== this.#socket.OPEN) queueMicrotask(() => answered(undefined))
    else void this.#answer(message, overloaded, this.#context.meter.received(bytes)).then(answered)
  }

  async #idle(): Promise<void> {
    const open = this.#socket.readyState === this.#socket.OPEN
    if (open && this.#backpressure.requests > 0)
      await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
  }

  #becomeIdle(): void {
    for (const resolve of this.#whenIdle.splice(0)) resolve()
  }

  /** The backend has the request before this returns, so that requests take effect in the order of arrival. Never fails. */
  async #answer(message: Message, overloaded: boolean, meter: RequestMeter): Promise<Answer> {
    if (message.request === undefined) return refusal(message.id, message.error, meter)
    const { request, milliseconds } = message
    meter.decoded(request, milliseconds)
    try {
      return success(request, await this.#run(request, message.frame, overloaded), meter)
    } catch (thrown) {
      return refusal(request.id, toWarpdexError(thrown), meter)
    }
  }

  async #run(request: Request, frame: Uint8Array, overloaded: boolean): Promise<Reply> {
    const { id } = request
    if (request.op === 'hello') return this.#hello(request)
    if (request.op === 'cancel') return { result: { fields: { cancelled: this.#cancel(request.target) } } }
    if (overloaded) {
      throw new WarpdexError('OVERLOADED', 'too many requests of all clients wait; try again after a pause')
    }
    if (this.#running.has(id)) {
      throw new WarpdexError('BAD_REQUEST', `the request before with id ${id} is not answered yet`)
    }
    const { backend, number: connection } = this.#context
    const cancellation = new Cancellation()
    this.#running.set(id, cancellation)
    try {
      return await backend.call({ request, frame, connection, client: this.#client, cancellation })
    } finally {
      this.#running.delete(id)
    }
  }

  #hello({ protocol, client }: ControlRequest<'hello'>): Reply {
    if (protocol !== PROTOCOL_VERSION) {
      throw new WarpdexError(
        'BAD_REQUEST',
        `the server speaks protocol ${PROTOCOL_VERSION}, not ${protocol}; take a client of its version, ${VERSION}`,
      )
    }
    this.#client = client
    const { frameBytes, batchItems, scanEntries, keyBytes, payloadBytes } = LIMITS
    const fields: ReplyFields['hello'] = {
      server: VERSION,
      protocol: PROTOCOL_VERSION,
      adapter: this.#context.backend.adapter,
      limits: { frameBytes, batchItems, scanEntries, keyBytes, payloadBytes },
    }
    return { result: { fields } }
  }

  #cancel(target: number): boolean {
    const running = this.#running.get(target)
    running?.cancel()
    return running !== undefined
  }

  #send(message: OutgoingMessage): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#backpressure.queued(this.#sender.send(message))
    else message.onLeft?.()
  }

  #abandon(): void {
    for (const sign of this.#running.values()) sign.cancel()
  }

  #end(code: number, reason: string): Promise<void> {
    this.#ending ??= this.#close(code, reason)
    return this.#ending
  }

  async #close(code: number, reason: string): Promise<void> {
    if (this.#socket.readyState === this.#socket.CLOSED) return
    this.#abandon()
    this.#backpressure.discardHeld()
    const closed = new Promise<void>((resolve) => this.#socket.once('close', () => resolve()))
    // A close that the client sends could not be read from a paused socket.
    this.#socket.resume()
    this.#socket.close(code, reason)
    const timer = setTimeout(() => this.#socket.terminate(), CLOSE_GRACE_MS)
    await closed
    clearTimeout(timer)
  }
}

/** Reads a message; never fails. */
function readMessage(frame: Uint8Array, binary: boolean): Message {
  const since = performance.now()
  try {
    if (!binary) throw new WarpdexError('BAD_REQUEST', 'a text message came; frames are binary messages')
    return { request: readRequest(frame), frame, milliseconds: performance.now() - since }
  } catch (thrown) {
    return { id: thrown instanceof FrameError ? thrown.id : null, error: toWarpdexError(thrown) }
  }
}

/** @throws WarpdexError `TOO_LARGE` for what does not fit into a frame */
function success(request: Request, { result, release }: Reply, meter: RequestMeter): Answer {
  meter.ran(itemsOf(request))
  try {
    const outgoing = { pieces: encodeResult(request, result), onLeft: release }
    meter.answered(undefined, bytesOf(outgoing))
    return { outgoing, ok: true }
  } catch (thrown) {
    release?.()
    throw thrown
  }
}

/** The frame of a result, in pieces. */
function encodeResult({ id, op }: Request, { columns, ...result }: Result): readonly Uint8Array[] {
  if (columns !== undefined) {
    const [first] = Object.values(columns)
    return encodeDataReply(
      { id, op: op as DataOp, columns },
      first !== undefined && isReplyMemory(first.bytes),
    )
  }
  const { fields = {}, sections } = result as FieldsResult
  return framePieces(replyHeader(id, fields), sections)
}

/** Keys or ranges of a request, or rows of an append, for the metrics. */
function itemsOf(request: Request): number {
  if ('handle' in request) return request.count
  return request.op === 'append' ? request.rows : 0
}

function refusal(id: number | null, error: WarpdexError, meter: RequestMeter): Answer {
  const outgoing = { pieces: [encodeFrame(errorHeader(id, error))] }
  meter.answered(error, bytesOf(outgoing))
  return { outgoing, ok: false }
}
