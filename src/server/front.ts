import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Status } from '../http/health.js'
import type { ServerMeter } from '../observe/meter.js'
import { hostAndPort } from './binding.js'

/** How long a client may take over a request's headers, and over the whole request: nobody sends a body. */
const SLOWEST_HEADERS_MS = 10_000
const SLOWEST_REQUEST_MS = 15_000

/** What the front needs of a connection. */
interface Admitted {
  close(): Promise<void>
}

/** What the front does with those who come. */
export interface FrontOptions {
  /** Answers what is no WebSocket. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void
  /** Whether to let in a WebSocket with that Origin header. */
  readonly mayConnect: (origin: string | undefined) => boolean
  readonly meter: Pick<ServerMeter, 'opened' | 'closed' | 'refused'>
}

/** The listening port: plain HTTP, and the door through which WebSockets come in. */
export class Front {
  readonly #http = createServer({ headersTimeout: SLOWEST_HEADERS_MS, requestTimeout: SLOWEST_REQUEST_MS })
  readonly #webSockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: LIMITS.frameBytes,
    maxFragments: LIMITS.messageFragments,
    maxBufferedChunks: LIMITS.messageChunks,
  })
  readonly #options: FrontOptions
  readonly #connections = new Set<Admitted>()
  #status: Status = 'starting'
  #connect: ((socket: WebSocket, stream: Duplex) => Admitted) | undefined

  constructor(options: FrontOptions) {
    this.#options = options
    this.#http.maxConnections = LIMITS.connections + LIMITS.httpConnections
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

  get status(): Status {
    return this.#status
  }

  /** Opens the door: every WebSocket is handed to `connect` with the stream below it. */
  admit(connect: (socket: WebSocket, stream: Duplex) => Admitted): void {
    this.#connect = connect
    this.#status = 'ready'
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
      await closed
    }
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    // Whoever asks may be gone already, and node no longer listens to a stream that it hands over.
    stream.on('error', () => stream.destroy())
    const connect = this.#connect
    if (connect === undefined || this.#status !== 'ready' || this.#connections.size >= LIMITS.connections) {
      this.#refuse(request, stream, 503)
      return
    }
    if (!this.#options.mayConnect(request.headers.origin)) {
      this.#refuse(request, stream, 403)
      return
    }
    this.#webSockets.handleUpgrade(request, stream, head, (socket) => {
      const connection = connect(socket, stream)
      this.#connections.add(connection)
      this.#options.meter.opened()
      socket.on('close', () => {
        this.#connections.delete(connection)
        this.#options.meter.closed()
      })
    })
  }

  #refuse({ socket }: IncomingMessage, stream: Duplex, status: 403 | 503): void {
    this.#options.meter.refused(status, socket.remoteAddress)
    refuse(stream, status)
  }
}

/** Answers and hangs up, lest somebody who does not hang up holds up the closing of the port. */
function refuse(stream: Duplex, status: 403 | 503): void {
  stream.once('finish', () => stream.destroy())
  stream.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
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
