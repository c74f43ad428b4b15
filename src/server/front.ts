import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Status } from '../http/health.js'
import type { ServerMeter } from '../observe/meter.js'
import type { Grant, Refusal } from './access/access.js'
import { hostAndPort } from './binding.js'
import type { SocketThreads } from './threads/socket-threads.js'
import type { TlsIdentity } from './tls.js'
import { createWebSocketServer } from './web-sockets.js'

/** What the front needs of a connection. */
interface Admitted {
  /** Requests that are not answered, but for those that others count. */
  readonly requests: number
  /** Resolves when it is over. */
  readonly closed: Promise<void>
  close(): Promise<void>
}

/** What the front does with those who come. */
export interface FrontOptions {
  /** Answers what is no WebSocket. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void
  /** Whom to let in as a WebSocket. */
  readonly admitted: (request: IncomingMessage) => Grant | Refusal
  /** What the port speaks TLS with; without it there is no TLS. */
  readonly tls: TlsIdentity | undefined
  readonly maxConnections: number
  readonly handshakeSeconds: number
  readonly meter: Pick<ServerMeter, 'opened' | 'closed' | 'refused'>
}

/** How often to look for clients that take too long over a request. */
const LONGEST_CHECK_MS = 1000

/** The listening port: plain HTTP, and the door through which WebSockets come in. */
export class Front {
  readonly #http: Server | TlsServer
  readonly #webSockets = createWebSocketServer()
  readonly #options: FrontOptions
  readonly #connections = new Set<Admitted>()
  #status: Status = 'starting'
  #connect: ((socket: WebSocket, stream: Duplex, grant: Grant) => Admitted) | undefined
  #threads: SocketThreads | undefined

  constructor(options: FrontOptions) {
    this.#options = options
    const { tls, maxConnections } = options
    const milliseconds = options.handshakeSeconds * 1000
    const times = {
      headersTimeout: milliseconds,
      requestTimeout: milliseconds,
      connectionsCheckingInterval: Math.min(milliseconds, LONGEST_CHECK_MS),
    }
    this.#http =
      tls === undefined
        ? createServer(times)
        : createTlsServer({ ...times, handshakeTimeout: milliseconds, cert: tls.cert, key: tls.key })
    this.#http.maxConnections = maxConnections + LIMITS.handshakes
    this.#http.on('request', options.answer)
    this.#http.on('upgrade', (request, stream, head) => this.#upgrade(request, stream, head))
  }

  /**
   * @returns the port, which is a free one if 0 was asked for
   * @throws WarpdexError `BAD_REQUEST`
   */
  async listen(host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#http.once('error', (error) => reject(listenError(error, host, port)))
      this.#http.listen(port, host, resolve)
    })
    const address = this.#http.address()
    return typeof address === 'object' && address !== null ? address.port : port
  }

  /** Takes another certificate for connections from now on; does nothing where the port speaks no TLS. */
  renew({ cert, key }: TlsIdentity): void {
    if (this.#http instanceof TlsServer) this.#http.setSecureContext({ cert, key })
  }

  /**
   * Opens the door: every WebSocket is handed to `connect` with the stream below it, and with who it is.
   * @param threads what takes connections over
   */
  admit(
    connect: (socket: WebSocket, stream: Duplex, grant: Grant) => Admitted,
    threads?: SocketThreads,
  ): void {
    this.#connect = connect
    this.#threads = threads
    this.#status = 'ready'
  }

  get status(): Status {
    return this.#status
  }

  get connections(): number {
    return this.#connections.size
  }

  /** Requests that are not answered, and the clients that wait for them. */
  get unanswered(): { readonly requests: number; readonly clients: number } {
    const waiting = [...this.#connections].flatMap(({ requests }) => (requests > 0 ? [requests] : []))
    const elsewhere = this.#threads?.load
    return {
      requests: waiting.reduce((sum, requests) => sum + requests, elsewhere?.requests ?? 0),
      clients: waiting.length + (elsewhere?.waitingClients ?? 0),
    }
  }

  /** Lets nobody in any more, has `finish` end the work behind the door, and sees everybody out. HTTP is answered until then. */
  async close(finish: () => Promise<void>): Promise<void> {
    this.#status = 'stopping'
    try {
      await finish()
    } finally {
      await Promise.all([...this.#connections].map((connection) => connection.close()))
      const closed = new Promise<void>((resolve) => this.#http.close(() => resolve()))
      this.#http.closeAllConnections()
      await this.#threads?.stop()
      await closed
    }
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    // Whoever asks may be gone already, and node no longer listens to a stream that it hands over.
    stream.on('error', () => stream.destroy())
    const connect = this.#connect
    if (
      connect === undefined ||
      this.#status !== 'ready' ||
      this.#connections.size >= this.#options.maxConnections
    ) {
      this.#refuse(request, stream, 503)
      return
    }
    const grant = this.#options.admitted(request)
    if (typeof grant === 'number') {
      this.#refuse(request, stream, grant)
      return
    }
    this.#webSockets.handleUpgrade(request, stream, head, (socket) => {
      this.#add(connect(socket, stream, grant))
    })
  }

  #add(connection: Admitted): void {
    const { meter } = this.#options
    this.#connections.add(connection)
    meter.opened()
    void connection.closed.then(() => {
      this.#connections.delete(connection)
      meter.closed()
    })
  }

  #refuse({ socket }: IncomingMessage, stream: Duplex, status: Refusal | 503): void {
    this.#options.meter.refused(status, socket.remoteAddress)
    refuse(stream, status)
  }
}

/** Answers and hangs up, lest somebody who does not hang up holds up the closing of the port. */
function refuse(stream: Duplex, status: Refusal | 503): void {
  const challenge = status === 401 ? 'WWW-Authenticate: Bearer\r\n' : ''
  stream.once('finish', () => stream.destroy())
  stream.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${challenge}Connection: close\r\nContent-Length: 0\r\n\r\n`,
  )
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): WarpdexError {
  const where = hostAndPort(host, port)
  if (error.code === 'EADDRINUSE') {
    return new WarpdexError(
      'BAD_REQUEST',
      `${where} is in use, perhaps by another warpdex; choose another port`,
    )
  }
  if (error.code === 'EADDRNOTAVAIL') {
    return new WarpdexError('BAD_REQUEST', `${host} is no address of this machine; 127.0.0.1 is`)
  }
  if (error.code === 'EACCES') {
    return new WarpdexError('BAD_REQUEST', `this user may not listen on ${where}; choose a port from 1024 on`)
  }
  return toWarpdexError(error)
}
