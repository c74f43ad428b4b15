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
import { VERSION } from '../version.js'
import type { Grant } from './access/access.js'
import { authorise } from './access/rights.js'
import { CorkedSender } from './corked-sender.js'
import { ConnectionFlow, type Flow } from './flow/flow.js'
import type { RunningRequest } from './flow/inflow.js'
import { type Reply, reply, runRequest } from './operations.js'
import { framePieces } from './reply-frame.js'

/** WebSocket close code of a server that is shutting down. */
const GOING_AWAY = 1001

/** How long a client has to take note of the end of its connection. */
const CLOSE_GRACE_MS = 2000

export interface ConnectionContext {
  readonly engine: Engine
  /** Who it is, and what it may do. */
  readonly grant: Grant
  readonly flow: Flow
}

/** One client's connection: from frames to requests, and from results to frames. */
export class Connection {
  readonly #socket: WebSocket
  readonly #context: ConnectionContext
  readonly #sender: CorkedSender
  readonly #flow: ConnectionFlow
  /** Requests that the engine has, by id. A cancelled one is dropped when its turn comes. */
  readonly #running = new Map<number, { cancelled: boolean }>()
  #client: string | undefined
  #whenIdle: (() => void)[] = []
  #ending: Promise<void> | undefined

  /** @param stream the stream below the socket */
  constructor(socket: WebSocket, stream: Duplex, context: ConnectionContext) {
    this.#socket = socket
    this.#context = context
    this.#flow = new ConnectionFlow(
      context.flow,
      socket,
      stream,
      (code, reason) => void this.#end(code, reason),
    )
    this.#sender = new CorkedSender(socket, stream, (bytes) => this.#flow.sent(bytes))
    // As a plain array: a Buffer's `slice` is no copy, which those who get its columns need not know.
    socket.on('message', (data: Buffer, binary: boolean) => {
      this.#flow.arrived(data.byteLength, (request) => void this.#receive(asBytes(data), binary, request))
    })
    socket.on('close', () => {
      this.#abandon()
      this.#becomeIdle()
    })
    // A broken connection is closed by the library, and there is nobody left to tell.
    socket.on('error', () => {})
  }

  /** Requests that are not answered. */
  get requests(): number {
    return this.#flow.requests
  }

  /** Waits until the requests that are running are answered, forgets those that have not begun, then ends the connection. */
  async close(): Promise<void> {
    this.#flow.stop()
    const open = this.#socket.readyState === this.#socket.OPEN
    if (open && this.#flow.requests > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
    this.#sender.flush()
    await this.#end(GOING_AWAY, 'the server is shutting down')
  }

  async #receive(data: Uint8Array, binary: boolean, { overloaded, end }: RunningRequest): Promise<void> {
    if (this.#socket.readyState === this.#socket.OPEN)
      this.#send(await this.#answer(data, binary, overloaded))
    end()
    if (this.#flow.requests === 0) this.#becomeIdle()
  }

  #becomeIdle(): void {
    for (const resolve of this.#whenIdle.splice(0)) resolve()
  }

  /** Reaches the engine's queue before it first waits, so that requests run in the order of arrival. Never fails. */
  async #answer(data: Uint8Array, binary: boolean, overloaded: boolean): Promise<readonly Uint8Array[]> {
    let id: number | null = null
    try {
      if (!binary) throw new WarpdexError('BAD_REQUEST', 'a text message came; frames are binary messages')
      const frame = decodeFrame(data)
      id = frame.id
      const { fields, sections } = await this.#run(parseRequest(frame), overloaded)
      return framePieces({ id, ok: true, ...fields }, sections)
    } catch (thrown) {
      return framePieces(errorHeader(thrown instanceof FrameError ? thrown.id : id, toWarpdexError(thrown)))
    }
  }

  async #run(request: Request, overloaded: boolean): Promise<Reply> {
    if (request.op === 'hello') return this.#hello(request)
    if (request.op === 'cancel') return reply<'cancel'>({ cancelled: this.#cancel(request.target) })
    if (overloaded) {
      throw new WarpdexError('OVERLOADED', 'too many requests of all clients wait; try again after a pause')
    }
    if (this.#running.has(request.id)) {
      throw new WarpdexError('BAD_REQUEST', `the request before with id ${request.id} is not answered yet`)
    }
    const { engine, grant } = this.#context
    const { rights } = grant
    authorise(rights, grant.who, request)
    const cancellation = { cancelled: false }
    this.#running.set(request.id, cancellation)
    try {
      return await runRequest(engine, request, { client: this.#client, rights, cancellation })
    } finally {
      this.#running.delete(request.id)
    }
  }

  #hello({ protocol, client }: HelloRequest): Reply {
    if (protocol !== PROTOCOL_VERSION) {
      const message = `the server speaks protocol ${PROTOCOL_VERSION}, not ${protocol}`
      throw new WarpdexError('BAD_REQUEST', message)
    }
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
    if (this.#socket.readyState === this.#socket.OPEN) this.#flow.queued(this.#sender.send(pieces))
  }

  #abandon(): void {
    for (const running of this.#running.values()) running.cancelled = true
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
