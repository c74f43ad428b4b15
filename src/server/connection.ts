import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { asBytes } from '../../protocol/columns.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { decodeFrame, FrameError } from '../../protocol/frame.js'
import { LIMITS } from '../../protocol/limits.js'
import {
  errorHeader,
  type HelloRequest,
  PROTOCOL_VERSION,
  parseRequest,
  type Request,
} from '../../protocol/messages.js'
import type { Engine } from '../engine/engine.js'
import type { RequestMeter, ServerMeter } from '../observe/meter.js'
import { VERSION } from '../version.js'
import { CorkedSender } from './corked-sender.js'
import { type Reply, reply, runRequest } from './operations.js'
import { framePieces } from './reply-frame.js'
import { sameSecret } from './secret.js'

/** WebSocket close codes that the server uses. */
export const CloseCode = { goingAway: 1001, policyViolation: 1008 } as const

/** How long a client has to take note of the end of its connection. */
const CLOSE_GRACE_MS = 2000

/** Bounds of one connection. */
export interface ConnectionLimits {
  readonly requestsInFlight: number
  readonly bytesInFlight: number
  readonly replyBytesQueued: number
}

export interface ConnectionContext {
  readonly engine: Engine
  /** What hello must bring; empty for nothing. */
  readonly token: string
  readonly limits: ConnectionLimits
  readonly meter: Pick<ServerMeter, 'received' | 'slowConsumer'>
}

/** One client's connection: from frames to requests, and from results to frames. */
export class Connection {
  readonly #socket: WebSocket
  readonly #context: ConnectionContext
  readonly #sender: CorkedSender
  /** Requests that the engine has, by id. A cancelled one is dropped when its turn comes. */
  readonly #running = new Map<number, { cancelled: boolean }>()
  #client: string | undefined
  #trusted: boolean
  #requests = 0
  #bytes = 0
  #whenIdle: (() => void)[] = []

  /** @param stream the stream below the socket */
  constructor(socket: WebSocket, stream: Duplex, context: ConnectionContext) {
    this.#socket = socket
    this.#context = context
    this.#trusted = context.token === ''
    this.#sender = new CorkedSender(socket, stream, () => this.#readOn())
    // As a plain array: a Buffer's `slice` is no copy, which those who get its columns need not know.
    socket.on('message', (data: Buffer, binary: boolean) => void this.#receive(asBytes(data), binary))
    socket.on('close', () => this.#abandon())
    // A broken connection is closed by the library, and there is nobody left to tell.
    socket.on('error', () => {})
  }

  /** Waits until the requests that are running are answered, then ends the connection. */
  async close(): Promise<void> {
    if (this.#requests > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
    this.#sender.flush()
    await this.#end(CloseCode.goingAway, 'the server is shutting down')
  }

  async #receive(data: Uint8Array, binary: boolean): Promise<void> {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    this.#requests++
    this.#bytes += data.byteLength
    if (this.#load() >= 1) this.#socket.pause()
    this.#send(await this.#answer(data, binary, this.#context.meter.received(data.byteLength)))
    this.#requests--
    this.#bytes -= data.byteLength
    this.#readOn()
    if (this.#requests > 0) return
    for (const resolve of this.#whenIdle.splice(0)) resolve()
  }

  /** Reaches the engine's queue before it first waits, so that requests run in the order of arrival. Never fails. */
  async #answer(data: Uint8Array, binary: boolean, meter: RequestMeter): Promise<readonly Uint8Array[]> {
    let id: number | null = null
    try {
      if (!binary) throw new WarpdexError('BAD_REQUEST', 'a text message came; frames are binary messages')
      const frame = decodeFrame(data)
      id = frame.id
      const request = parseRequest(frame)
      meter.decoded(request)
      const { fields, sections } = await this.#run(request)
      meter.ran(sections)
      const pieces = framePieces({ id, ok: true, ...fields }, sections)
      meter.answered(undefined, byteCount(pieces))
      return pieces
    } catch (thrown) {
      const error = toWarpdexError(thrown)
      const pieces = framePieces(errorHeader(thrown instanceof FrameError ? thrown.id : id, error))
      meter.answered(error, byteCount(pieces))
      return pieces
    }
  }

  async #run(request: Request): Promise<Reply> {
    if (request.op === 'hello') return this.#hello(request)
    if (!this.#trusted)
      throw new WarpdexError('UNAUTHORISED', 'the server wants a hello with its token first')
    if (request.op === 'cancel') return reply<'cancel'>({ cancelled: this.#cancel(request.target) })
    if (this.#running.has(request.id)) {
      throw new WarpdexError('BAD_REQUEST', `the request before with id ${request.id} is not answered yet`)
    }
    const cancellation = { cancelled: false }
    this.#running.set(request.id, cancellation)
    try {
      return await runRequest(this.#context.engine, request, { client: this.#client, cancellation })
    } finally {
      this.#running.delete(request.id)
    }
  }

  #hello({ protocol, client, token = '' }: HelloRequest): Reply {
    if (protocol !== PROTOCOL_VERSION) {
      const message = `the server speaks protocol ${PROTOCOL_VERSION}, not ${protocol}`
      throw new WarpdexError('BAD_REQUEST', message)
    }
    if (!this.#trusted && !sameSecret(token, this.#context.token)) {
      throw new WarpdexError('UNAUTHORISED', token === '' ? 'the server wants a token' : 'the token is wrong')
    }
    this.#trusted = true
    this.#client = client
    const { name, software } = this.#context.engine.adapter
    const { frameBytes, batchItems, scanEntries, keyBytes, payloadBytes } = LIMITS
    return reply<'hello'>({
      server: VERSION,
      protocol: PROTOCOL_VERSION,
      adapter: { name, software },
      limits: { frameBytes, batchItems, scanEntries, keyBytes, payloadBytes },
    })
  }

  #cancel(target: number): boolean {
    const running = this.#running.get(target)
    if (running !== undefined) running.cancelled = true
    return running !== undefined
  }

  #send(pieces: readonly Uint8Array[]): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    this.#sender.send(pieces)
    if (this.#sender.queuedBytes <= this.#context.limits.replyBytesQueued) return
    this.#context.meter.slowConsumer(this.#sender.queuedBytes)
    void this.#end(CloseCode.policyViolation, 'replies were not read for too long')
  }

  /** How far the connection is towards the bound that it is nearest to; from 1 on the server reads nothing more from it. */
  #load(): number {
    const { requestsInFlight, bytesInFlight, replyBytesQueued } = this.#context.limits
    return Math.max(
      this.#requests / requestsInFlight,
      this.#bytes / bytesInFlight,
      (this.#sender.queuedBytes * 2) / replyBytesQueued,
    )
  }

  #readOn(): void {
    if (this.#socket.isPaused && this.#load() < 0.5) this.#socket.resume()
  }

  #abandon(): void {
    for (const running of this.#running.values()) running.cancelled = true
  }

  async #end(code: number, reason: string): Promise<void> {
    if (this.#socket.readyState === this.#socket.CLOSED) return
    const closed = new Promise<void>((resolve) => this.#socket.once('close', () => resolve()))
    // A close that the client sends could not be read from a paused socket.
    this.#socket.resume()
    this.#socket.close(code, reason)
    const timer = setTimeout(() => this.#socket.terminate(), CLOSE_GRACE_MS)
    await closed
    clearTimeout(timer)
  }
}

function byteCount(pieces: readonly Uint8Array[]): number {
  let bytes = 0
  for (const { byteLength } of pieces) bytes += byteLength
  return bytes
}
