import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import { connect, type ListenOptions } from 'node:net'
import { dirname } from 'node:path'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { SUBPROTOCOL } from '../../protocol/bearer.js'
import { badRequest, toWarpdexError, type WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { send } from '../http/answer.js'
import type { ClientFacts } from '../observe/client-facts.js'
import type { Admission, Visit } from './backend.js'
import { hostAndPort } from './binding.js'
import { Connection, type ConnectionParts } from './connection.js'

/** Where to listen: an address and port, or the path of a Unix socket. */
export type Address =
  | { readonly host: string; readonly port: number; readonly path?: undefined }
  | { readonly path: string; readonly port?: undefined }

export interface ListenerOptions {
  readonly address: Address
  /** Whether other threads listen on the same port, among which the system spreads those who come; by default none do. */
  readonly shared?: boolean
  /** What the port speaks TLS with, PEM; without it there is no TLS. */
  readonly tls: { readonly cert: Uint8Array; readonly key: Uint8Array } | undefined
  readonly maxConnections: number
  readonly handshakeSeconds: number
}

/** How often to look for clients that take too long over a request. */
const LONGEST_CHECK_MS = 1000

/** A listening port: plain HTTP, and the WebSockets that come in by it, which stay in this thread. */
export class Listener {
  readonly #http: Server | TlsServer
  readonly #webSockets = createWebSocketServer()
  readonly #options: ListenerOptions
  readonly #parts: ConnectionParts
  readonly #connections = new Set<Connection>()

  constructor(options: ListenerOptions, parts: ConnectionParts) {
    this.#options = options
    this.#parts = parts
    const { tls, maxConnections } = options
    const milliseconds = options.handshakeSeconds * 1000
    const times: ServerOptions = {
      headersTimeout: milliseconds,
      requestTimeout: milliseconds,
      connectionsCheckingInterval: Math.min(milliseconds, LONGEST_CHECK_MS),
    }
    this.#http =
      tls === undefined
        ? createServer(times)
        : createTlsServer({ ...times, handshakeTimeout: milliseconds, ...identity(tls) })
    this.#http.maxConnections = maxConnections + LIMITS.handshakes
    this.#http.on('request', (request, response) => void this.#visit(request, response))
    this.#http.on('upgrade', (request, stream, head) => void this.#upgrade(request, stream, head))
  }

  /**
   * Accepts connections from now on.
   * @returns the port, which is a free one if 0 was asked for; 0 for a Unix socket
   * @throws WarpdexError `BAD_REQUEST`
   */
  async listen(): Promise<number> {
    const { address, shared = false } = this.#options
    const where: ListenOptions & { readonly reusePort?: boolean } =
      address.path === undefined
        ? { host: address.host, port: address.port, reusePort: shared }
        : { path: address.path }
    try {
      await this.#bind(where)
    } catch (thrown) {
      const error = thrown as NodeJS.ErrnoException
      const isLeftBehind = error.code === 'EADDRINUSE' && address.path && !(await answers(address.path))
      if (!isLeftBehind) throw listenError(error, address)
      // A server that was killed leaves its socket behind.
      rmSync(address.path, { force: true })
      await this.#bind(where)
    }
    const bound = this.#http.address()
    return typeof bound === 'object' && bound !== null ? bound.port : 0
  }

  async #bind(where: ListenOptions): Promise<void> {
    const listening = once(this.#http, 'listening')
    this.#http.listen(where)
    await listening
  }

  /** Accepts nobody any more; the connections stay. */
  stopListening(): void {
    if (this.#http.listening) this.#http.close()
  }

  /** Takes another certificate for connections from now on; does nothing where the port speaks no TLS. */
  renew(tls: NonNullable<ListenerOptions['tls']>): void {
    if (this.#http instanceof TlsServer) this.#http.setSecureContext(identity(tls))
  }

  get connections(): readonly Connection[] {
    return [...this.#connections]
  }

  async clients(): Promise<readonly ClientFacts[]> {
    return this.connections.map(({ facts }) => facts)
  }

  /** Sees everybody out once their requests are answered, and gives the port back. */
  async close(): Promise<void> {
    await Promise.all(this.connections.map((connection) => connection.close()))
    if (!this.#http.listening) return
    const closed = once(this.#http, 'close')
    this.#http.close()
    this.#http.closeAllConnections()
    await closed
  }

  async #visit(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Whoever asks may go at any time.
    response.on('error', () => {})
    send(request, response, await this.#parts.backend.visit(visitOf(request)))
  }

  async #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    const { backend } = this.#parts
    // Node no longer listens to a stream that it hands over.
    stream.on('error', () => stream.destroy())
    const visit = visitOf(request)
    const admission = await backend.admit(visit)
    if (admission.status !== undefined) {
      refuse(stream, admission)
      return
    }
    const { connection: number, token, isForwarded } = admission
    let connection: Connection | undefined
    // Whoever asked may be gone already, or no WebSocket may come of it.
    const gone = () => {
      if (connection === undefined) backend.left(number)
    }
    stream.once('close', gone)
    if (stream.destroyed) {
      stream.off('close', gone)
      gone()
      return
    }
    this.#webSockets.handleUpgrade(request, stream, head, (socket) => {
      const asker = { connection: number, token, address: visit.address, isForwarded }
      const opened = new Connection(socket, stream, asker, this.#parts)
      connection = opened
      this.#connections.add(opened)
      void opened.closed.then(() => this.#connections.delete(opened))
    })
  }
}

/** Makes WebSockets of connections that were upgraded. */
function createWebSocketServer(): WebSocketServer {
  return new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    // Whoever keeps a connection within the limits answers pings.
    autoPong: false,
    maxPayload: LIMITS.frameBytes,
    maxFragments: LIMITS.messageFragments,
    maxBufferedChunks: LIMITS.messageChunks,
    // A token that came as a subprotocol is not sent back.
    handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
  })
}

/** Whether somebody listens on a Unix socket. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED'))
  })
}

function visitOf({ method = 'GET', url = '/', headers, socket }: IncomingMessage): Visit {
  return { method, url, headers: { ...headers }, address: socket.remoteAddress }
}

function identity({ cert, key }: NonNullable<ListenerOptions['tls']>): { cert: Buffer; key: Buffer } {
  return { cert: Buffer.from(cert), key: Buffer.from(key) }
}

/** Answers and hangs up, lest somebody who does not hang up holds up the closing of the port. */
function refuse(stream: Duplex, refusal: Extract<Admission, { status: number }>): void {
  const { status } = refusal
  const location = status === 307 ? `Location: ${refusal.location}\r\n` : ''
  const challenge = status === 401 ? 'WWW-Authenticate: Bearer\r\n' : ''
  stream.once('finish', () => stream.destroy())
  stream.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${location}${challenge}Connection: close\r\nContent-Length: 0\r\n\r\n`,
  )
}

function listenError(error: NodeJS.ErrnoException, address: Address): WarpdexError {
  const where = address.path ?? hostAndPort(address.host, address.port)
  if (error.code === 'EADDRINUSE') {
    const other =
      address.path === undefined ? 'port (--port)' : 'path, or remove the socket if nobody listens on it'
    return badRequest(`${where} is in use, perhaps by another warpdex; choose another ${other}`)
  }
  if (error.code === 'EADDRNOTAVAIL')
    return badRequest(`${where} is not an address of this machine; 127.0.0.1 is`)
  // libuv says EACCES also where the folder of a Unix socket is missing.
  if (address.path !== undefined && !existsSync(dirname(address.path))) {
    return badRequest(`${where} lies in no folder that is there; make the folder first`)
  }
  if (error.code === 'EACCES') {
    const right = address.path === undefined ? 'a port from 1024 on' : 'a folder that it may write to'
    return badRequest(`this user may not listen on ${where}; choose ${right}`)
  }
  return toWarpdexError(error)
}
