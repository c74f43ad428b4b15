import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { asBytes } from '../../protocol/columns.js'
import { encodeDataReply } from '../../protocol/data-frame.js'
import { type DataOp, isWait } from '../../protocol/data-request.js'
import { badRequest, toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { encodeFrame, FrameError, framePieces, PROTOCOL_VERSION } from '../../protocol/frame.js'
import { IdMap } from '../../protocol/id-map.js'
import { LIMITS } from '../../protocol/limits.js'
import { type ControlRequest, type Request, readRequest } from '../../protocol/messages.js'
import { errorHeader, type ReplyFields, replyHeader } from '../../protocol/replies.js'
import type { Asker, RequestObserver } from '../observe/answered-request.js'
import type { ClientFacts } from '../observe/client-facts.js'
import type { Meters } from '../observe/meters.js'
import { VERSION } from '../version.js'
import { type Admitted, type Backend, Call, type FieldsResult, type Reply, type Result } from './backend.js'
import type { Backpressure } from './backpressure/backpressure.js'
import { ClientWatch, SlowCloseCode } from './backpressure/client-watch.js'
import {
  ConnectionBackpressure,
  type Message,
  type MessageHandler,
} from './backpressure/connection-backpressure.js'
import type { ReplyExpectation } from './backpressure/reply-sizes.js'
import { describeRequest } from './describe-request.js'
import { isReplyMemory } from './reply-memory.js'
import { type OutgoingMessage, ReplySender } from './reply-sender.js'

/** WebSocket close code of a server that is shutting down. */
const GOING_AWAY = 1001

/** WebSocket close code of a fault of the server's own. */
const INTERNAL_ERROR = 1011

/** Approximate size of an error reply. */
const ERROR_BYTES = 1024

/** How long a client has to take note of the end of its connection. */
const CLOSE_GRACE_MS = 2000

/** What connections are served by. */
export interface ConnectionParts {
  readonly backend: Backend
  readonly backpressure: Backpressure
  readonly meters: Meters
  readonly observer: RequestObserver
  /** Told of a client that does not read its replies, and is sent away. */
  readonly onSlowConsumer: (queuedBytes: number) => void
}

/** A message, and what it is read as: a request, or what is wrong with it. */
interface Incoming extends Message {
  readonly frame: Uint8Array
  readonly isBinary: boolean
  decodeMilliseconds: number
  request?: Request
  expectation?: ReplyExpectation
  fault?: unknown
}

/** One client's connection: from frames to requests, and from results to frames. */
export class Connection implements MessageHandler<Incoming> {
  /** Resolves when the connection has closed. */
  readonly closed: Promise<void>
  readonly #socket: WebSocket
  readonly #number: number
  readonly #asker: Asker
  readonly #isForwarded: boolean | undefined
  readonly #parts: ConnectionParts
  readonly #sender: ReplySender
  readonly #backpressure: ConnectionBackpressure<Incoming>
  /** Requests that the backend has, by id. */
  readonly #running = new IdMap<Call>()
  #client: string | undefined
  readonly #since = Date.now()
  /** Requests that have begun. */
  #begun = 0
  /** Of those that were answered. */
  #requests = 0
  #bytesIn = 0
  #bytesOut = 0
  #onIdle: () => void = () => {}
  #ending: Promise<void> | undefined

  /**
   * @param stream the stream below the socket
   */
  constructor(
    socket: WebSocket,
    stream: Duplex,
    { connection: number, isForwarded, token, address }: Asker & Omit<Admitted, 'who' | 'introduction'>,
    parts: ConnectionParts,
  ) {
    const { backend, backpressure, onSlowConsumer } = parts
    this.#socket = socket
    this.#number = number
    this.#asker = { token, address }
    this.#isForwarded = isForwarded
    this.#parts = parts
    const own = new ConnectionBackpressure<Incoming>(backpressure, this)
    this.#backpressure = own
    new ClientWatch(backpressure, own, socket, stream, (code, reason) => {
      if (code === SlowCloseCode.repliesNotRead) onSlowConsumer(own.replyBytes)
      void this.#end(code, reason)
    })
    this.#sender = new ReplySender(socket, stream, own)
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      // As a plain array: a Buffer's `slice` is no copy, which those who get its columns need not know.
      const frame = asBytes(data)
      own.arrived({ frame, isBinary, bytes: frame.byteLength, decodeMilliseconds: 0 })
    })
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.#abandon()
        backend.left(number)
        this.#onIdle()
        resolve()
      })
    })
    // A broken connection is closed by the library, and there is nobody left to tell.
    socket.on('error', () => {})
  }

  /** Waits until the requests that are running are answered, forgets those that have not begun, then ends the connection. */
  async close(): Promise<void> {
    this.#backpressure.stop()
    if (this.#isOpen && this.#backpressure.requests > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
    }
    this.#sender.flush()
    await this.#end(GOING_AWAY, 'the server is shutting down')
  }

  /** Ends it as it is: what serves it can serve no more. */
  fail(): Promise<void> {
    return this.#end(INTERNAL_ERROR, 'the server failed; connect again')
  }

  get facts(): ClientFacts {
    const { requests, replyBytes } = this.#backpressure
    return {
      connection: this.#number,
      ...this.#asker,
      since: this.#since,
      requests: this.#requests,
      bytesIn: this.#bytesIn,
      bytesOut: this.#bytesOut,
      requestsInFlight: requests,
      unreadBytes: replyBytes,
    }
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN
  }

  /** Reads a message. Never fails. */
  expect(message: Incoming): number {
    const since = performance.now()
    try {
      if (!message.isBinary) {
        throw badRequest('a text message came; frames are binary messages')
      }
      message.request = readRequest(message.frame)
      message.isWait = isWait(message.request)
      message.expectation = this.#parts.backpressure.replySizes.expect(message.request)
    } catch (thrown) {
      message.fault = thrown
    }
    message.decodeMilliseconds = performance.now() - since
    return message.expectation?.bytes ?? ERROR_BYTES
  }

  /** The backend has the request before this returns, so that requests take effect in the order of arrival. Never fails. */
  async begin(message: Incoming, overloaded: boolean): Promise<void> {
    const order = this.#begun++
    const reply = this.#isOpen ? await this.#answer(message, overloaded) : await undefined
    const sent = reply !== undefined && this.#isOpen
    if (sent) this.#sender.send({ order, ...reply })
    else reply?.memory?.release()
    this.#backpressure.answered(message, sent ? reply.bytes : 0)
    if (this.#backpressure.requests === 0) this.#onIdle()
  }

  pause(paused: boolean): void {
    if (paused) this.#socket.pause()
    else this.#socket.resume()
  }

  cut(): void {
    this.#socket.terminate()
  }

  async #answer(message: Incoming, overloaded: boolean): Promise<Omit<OutgoingMessage, 'order'>> {
    const { request, expectation, decodeMilliseconds, bytes: bytesIn } = message
    const { meters, observer, backpressure } = this.#parts
    const since = performance.now()
    let ran = 0
    let reply: Reply | undefined
    let error: WarpdexError | undefined
    let pieces: readonly Uint8Array[]
    try {
      if (request === undefined) throw message.fault
      if (message.isWait) this.#requireRoomForWaits()
      reply = await this.#run(request, message.frame, overloaded)
      ran = performance.now()
      pieces = encodeResult(request, reply.result)
    } catch (thrown) {
      reply?.memory?.release()
      error = toWarpdexError(thrown)
      const id = request?.id ?? (thrown instanceof FrameError ? thrown.id : null)
      pieces = [encodeFrame(errorHeader(id, error))]
    }
    let bytes = 0
    for (const { byteLength } of pieces) bytes += byteLength
    const outcome = { request, error, decodeMilliseconds, since, ran, bytesIn, bytesOut: bytes }
    const milliseconds = meters.answered(outcome)
    this.#requests++
    this.#bytesIn += bytesIn
    this.#bytesOut += bytes
    // What waits for changes takes as long as nothing changes.
    if (milliseconds > observer.threshold && message.isWait !== true) {
      const untilResult = reply && ran - since
      const { result, running } = reply ?? {}
      const described = describeRequest({ ...outcome, milliseconds, untilResult, result, running })
      const handles = this.#isForwarded ? [] : described.handles
      observer.answered({ ...described, handles, ...this.#asker })
    }
    if (error !== undefined) return { pieces, bytes }
    if (expectation !== undefined) backpressure.replySizes.learn(expectation, bytes)
    return { pieces, bytes, memory: reply?.memory }
  }

  #requireRoomForWaits(): void {
    const { watchWaits } = this.#parts.backpressure.limits
    if (this.#backpressure.waits <= watchWaits) return
    throw new WarpdexError(
      'TOO_LARGE',
      `${watchWaits} feeds wait for changes on this connection; open another one for more`,
    )
  }

  async #run(request: Request, frame: Uint8Array, overloaded: boolean): Promise<Reply> {
    const { id } = request
    if (request.op === 'hello') return { result: { fields: this.#hello(request) } }
    if (request.op === 'cancel') {
      const target = this.#running.get(request.target)
      target?.cancel()
      return { result: { fields: { cancelled: target !== undefined } } }
    }
    if (overloaded) {
      throw new WarpdexError('OVERLOADED', 'too many requests of all clients wait; try again after a pause')
    }
    if (this.#running.has(id)) {
      throw badRequest(`the request before with id ${id} is not answered yet`)
    }
    const call = new Call(request, frame, this.#number, this.#client)
    this.#running.set(id, call)
    try {
      return await this.#parts.backend.call(call)
    } finally {
      this.#running.delete(id)
    }
  }

  #hello({ protocol, client }: ControlRequest<'hello'>): ReplyFields['hello'] {
    if (protocol !== PROTOCOL_VERSION) {
      throw badRequest(
        `the server speaks protocol ${PROTOCOL_VERSION}, not ${protocol}; take a client of its version, ${VERSION}`,
      )
    }
    this.#client = client
    const { frameBytes, batchItems, scanEntries, keyBytes, payloadBytes } = LIMITS
    return {
      server: VERSION,
      protocol: PROTOCOL_VERSION,
      ...this.#parts.backend.introduction,
      limits: { frameBytes, batchItems, scanEntries, keyBytes, payloadBytes },
    }
  }

  #abandon(): void {
    for (const call of this.#running.values()) call.cancel()
  }

  #end(code: number, reason: string): Promise<void> {
    this.#ending ??= this.#close(code, reason)
    return this.#ending
  }

  async #close(code: number, reason: string): Promise<void> {
    if (this.#socket.readyState === this.#socket.CLOSED) return
    this.#abandon()
    this.#backpressure.stop()
    // A close that the client sends could not be read from a paused socket.
    this.#socket.resume()
    this.#socket.close(code, reason)
    const timer = setTimeout(() => this.#socket.terminate(), CLOSE_GRACE_MS)
    await this.closed
    clearTimeout(timer)
  }
}

/** The frame of a result, in pieces. @throws WarpdexError `TOO_LARGE` for what does not fit into one */
function encodeResult({ id, op }: Request, { columns, ...result }: Result): readonly Uint8Array[] {
  if (columns === undefined) {
    const { fields = {}, sections } = result as FieldsResult
    return framePieces(replyHeader(id, fields), sections)
  }
  const [first] = Object.values(columns)
  const hasRoom = first !== undefined && isReplyMemory(first.bytes)
  return encodeDataReply({ id, op: op as DataOp, columns }, hasRoom)
}
