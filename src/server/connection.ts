import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { asBytes } from '../../protocol/columns.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { IdMap } from '../../protocol/id-map.js'
import { LIMITS } from '../../protocol/limits.js'
import { type HelloRequest, PROTOCOL_VERSION, type Request } from '../../protocol/messages.js'
import { errorHeader } from '../../protocol/replies.js'
import type { RequestMeter, ServerMeter } from '../observe/meter.js'
import { VERSION } from '../version.js'
import type { Grant } from './access/access.js'
import { authorise } from './access/rights.js'
import { reply } from './asker.js'
import { ConnectionFlow, type Flow, FlowCloseCode } from './flow/flow.js'
import type { PreparedRequest, RunningRequest } from './flow/inflow.js'
import type { ReplyExpectation } from './flow/reply-sizes.js'
import { type Answered, CancelSign, type EngineGate } from './gate/engine-gate.js'
import { type ReadMessage, readMessage } from './read-message.js'
import { framePieces } from './reply-frame.js'
import { bytesOf, type OutgoingMessage, ReplySender } from './reply-sender.js'

/** WebSocket close code of a server that is shutting down. */
const GOING_AWAY = 1001

/** WebSocket close code of a fault of the server's own. */
const INTERNAL_ERROR = 1011

const NOTHING = new Uint8Array(0)

/** About what a reply has that says what is wrong. */
const ERROR_BYTES = 1024

/** How long a client has to take note of the end of its connection. */
const CLOSE_GRACE_MS = 2000

export interface ConnectionContext {
  readonly gate: EngineGate
  /** The connection's number, which no other has at the same time. */
  readonly number: number
  /** Who it is, and what it may do. */
  readonly grant: Grant
  readonly flow: Flow
  readonly meter: Pick<ServerMeter, 'received' | 'slowConsumer'>
  /** The client's name, where it was served elsewhere before. */
  readonly client?: string | undefined
  /** Called whenever all of its requests are answered. */
  readonly onIdle?: (() => void) | undefined
}

/** The reply to a request, and whether it is no error. */
interface Answer {
  readonly outgoing: OutgoingMessage
  readonly ok: boolean
}

/** One client's connection: from frames to requests, and from results to frames. */
export class Connection {
  /** Resolves when it is over here. */
  readonly closed: Promise<void>
  readonly #socket: WebSocket
  readonly #stream: Duplex
  readonly #context: ConnectionContext
  readonly #sender: ReplySender
  readonly #flow: ConnectionFlow
  /** Requests that the engine has, by id. A cancelled one is dropped when its turn comes. */
  readonly #running = new IdMap<CancelSign>()
  #client: string | undefined
  #whenIdle: (() => void)[] = []
  #ending: Promise<void> | undefined
  #handedOver = false

  /** @param stream the stream below the socket */
  constructor(socket: WebSocket, stream: Duplex, context: ConnectionContext) {
    this.#socket = socket
    this.#stream = stream
    this.#context = context
    this.#client = context.client
    this.#flow = new ConnectionFlow(context.flow, socket, stream, (code, reason, queuedBytes) => {
      if (code === FlowCloseCode.repliesNotRead) context.meter.slowConsumer(queuedBytes)
      void this.#end(code, reason)
    })
    this.#sender = new ReplySender(socket, stream, (bytes) => this.#flow.sent(bytes))
    // As a plain array: a Buffer's `slice` is no copy, which those who get its columns need not know.
    socket.on('message', (data: Buffer, binary: boolean) => {
      this.#flow.arrived(data.byteLength, () => this.#prepare(asBytes(data), binary))
    })
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.#abandon()
        if (!this.#handedOver) context.gate.left(context.number)
        this.#becomeIdle()
        resolve()
      })
    })
    // A broken connection is closed by the library, and there is nobody left to tell.
    socket.on('error', () => {})
  }

  /** Requests that are not answered. */
  get requests(): number {
    return this.#flow.requests
  }

  /** Whether it is open and nothing of it is under way, neither a request nor a reply. */
  get atRest(): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN || this.#ending !== undefined) return false
    return this.#flow.requests === 0 && this.#flow.unsent === 0 && this.#stream.writableLength === 0
  }

  /** Waits until the requests that are running are answered, and what was sent has left. */
  async drain(): Promise<void> {
    await this.#idle()
    this.#sender.flush()
    const hasLeft = this.#flow.unsent === 0 && this.#stream.writableLength === 0
    if (hasLeft || this.#socket.readyState !== this.#socket.OPEN) return
    await new Promise<void>((resolve) => this.#stream.write(NOTHING, () => resolve()))
  }

  /**
   * Its stream is taken away, and somebody else goes on with the connection as it is.
   * @returns the client's name, if it has said one
   */
  handOver(): string | undefined {
    this.#handedOver = true
    return this.#client
  }

  /** Waits until the requests that are running are answered, forgets those that have not begun, then ends the connection. */
  async close(): Promise<void> {
    this.#flow.stop()
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
    const expected = request && this.#context.flow.replySizes.expect(request)
    return {
      replyBytes: expected?.bytes ?? ERROR_BYTES,
      start: (running) => this.#receive(message, data.byteLength, expected, running),
    }
  }

  /** No async function, as there is none on the way of a small request: these take as long as all else that is done for it. */
  #receive(
    message: ReadMessage,
    bytes: number,
    expected: ReplyExpectation | undefined,
    { overloaded, end }: RunningRequest,
  ): void {
    const answered = (answer: Answer | undefined) => {
      if (answer !== undefined) {
        const { outgoing, ok } = answer
        if (ok && expected !== undefined) this.#context.flow.replySizes.learn(expected, bytesOf(outgoing))
        this.#send(outgoing)
      }
      end()
      if (this.#flow.requests === 0) this.#becomeIdle()
    }
    if (this.#socket.readyState !== this.#socket.OPEN) queueMicrotask(() => answered(undefined))
    else this.#answer(message, overloaded, this.#context.meter.received(bytes), answered)
  }

  async #idle(): Promise<void> {
    const open = this.#socket.readyState === this.#socket.OPEN
    if (open && this.#flow.requests > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
  }

  #becomeIdle(): void {
    this.#context.onIdle?.()
    for (const resolve of this.#whenIdle.splice(0)) resolve()
  }

  /**
   * Reaches the engine's queue before it returns, so that requests run in the order of arrival. Never fails.
   * @param answered called once, later than this returns
   */
  #answer(
    message: ReadMessage,
    overloaded: boolean,
    meter: RequestMeter,
    answered: (answer: Answer) => void,
  ): void {
    if (message.request === undefined) {
      const answer = refusal(message.id, message.error, meter)
      queueMicrotask(() => answered(answer))
      return
    }
    const { request, ownsMemory, milliseconds } = message
    const sign = new CancelSign()
    const fail = (thrown: unknown) => {
      this.#forget(request.id, sign)
      answered(refusal(request.id, toWarpdexError(thrown), meter))
    }
    const succeed = (result: Answered) => {
      let answer: Answer
      try {
        answer = success(request.id, result, meter)
      } catch (thrown) {
        // What does not fit into a frame does not leave.
        result.release?.()
        fail(thrown)
        return
      }
      this.#forget(request.id, sign)
      answered(answer)
    }
    try {
      meter.decoded(request, milliseconds)
      const result = this.#run(request, sign, overloaded, ownsMemory)
      if (result instanceof Promise) void result.then(succeed, fail)
      else queueMicrotask(() => succeed(result))
    } catch (thrown) {
      queueMicrotask(() => fail(thrown))
    }
  }

  /** One that was refused for its id leaves the other's sign there. */
  #forget(id: number, sign: CancelSign): void {
    if (this.#running.get(id) === sign) this.#running.delete(id)
  }

  /** @returns the answer or, where it takes time, a promise of it */
  #run(
    request: Request,
    sign: CancelSign,
    overloaded: boolean,
    ownsMemory: boolean,
  ): Answered | Promise<Answered> {
    if (request.op === 'hello') return this.#hello(request)
    if (request.op === 'cancel') return reply<'cancel'>({ cancelled: this.#cancel(request.target) })
    if (overloaded) {
      throw new WarpdexError('OVERLOADED', 'too many requests of all clients wait; try again after a pause')
    }
    if (this.#running.has(request.id)) {
      throw new WarpdexError('BAD_REQUEST', `the request before with id ${request.id} is not answered yet`)
    }
    const { gate, grant, number } = this.#context
    const { rights } = grant
    authorise(rights, grant.who, request)
    this.#running.set(request.id, sign)
    return gate.ask({ request, client: this.#client, rights, sign, connection: number, ownsMemory })
  }

  #hello({ protocol, client }: HelloRequest): Answered {
    if (protocol !== PROTOCOL_VERSION) {
      const message = `the server speaks protocol ${PROTOCOL_VERSION}, not ${protocol}`
      throw new WarpdexError('BAD_REQUEST', message)
    }
    this.#client = client
    const { frameBytes, batchItems, scanEntries, keyBytes, payloadBytes } = LIMITS
    return reply<'hello'>({
      server: VERSION,
      protocol: PROTOCOL_VERSION,
      adapter: this.#context.gate.adapter,
      limits: { frameBytes, batchItems, scanEntries, keyBytes, payloadBytes },
    })
  }

  #cancel(target: number): boolean {
    const running = this.#running.get(target)
    running?.cancel()
    return running !== undefined
  }

  #send(message: OutgoingMessage): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#flow.queued(this.#sender.send(message))
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
    this.#flow.discardHeld()
    const closed = new Promise<void>((resolve) => this.#socket.once('close', () => resolve()))
    // A close that the client sends could not be read from a paused socket.
    this.#socket.resume()
    this.#socket.close(code, reason)
    const timer = setTimeout(() => this.#socket.terminate(), CLOSE_GRACE_MS)
    await closed
    clearTimeout(timer)
  }
}

function success(id: number, { fields, sections, release }: Answered, meter: RequestMeter): Answer {
  meter.ran(sections)
  const outgoing = { pieces: framePieces({ id, ok: true, ...fields }, sections), onLeft: release }
  meter.answered(undefined, bytesOf(outgoing))
  return { outgoing, ok: true }
}

function refusal(id: number | null, error: WarpdexError, meter: RequestMeter): Answer {
  const outgoing = { pieces: framePieces(errorHeader(id, error)) }
  meter.answered(error, bytesOf(outgoing))
  return { outgoing, ok: false }
}
