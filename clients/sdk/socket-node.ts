import { connect, type Socket as TcpSocket } from 'node:net'
import { type ClientOptions, WebSocket } from 'ws'
import { asBytes } from '../../protocol/columns.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Socket, SocketHandlers, SocketOptions } from './socket.js'

const NO_TEXT = 'the server sent text instead of a frame'
/**
 * Compression is on in this library's clients by default; it costs more than it saves on columns. `closeTimeout`
 * (milliseconds for the server to answer the closing of a connection) is missing from the library's types.
 */
const OPTIONS = {
  perMessageDeflate: false,
  maxPayload: LIMITS.frameBytes,
  closeTimeout: 2000,
  followRedirects: true,
}

/** Up to this size messages share a system call, which costs more than all else that a client does for a small request. */
const JOINED_BYTES = 16 * 1024

/**
 * Opens a WebSocket, over TCP or, with a URL such as `ws+unix:/run/warpdex.sock`, over a Unix socket. Small messages that are sent in one turn
 * leave together at its end.
 *
 * @throws SyntaxError when the URL is none that a WebSocket can connect to
 */
export function openSocket(url: string, options: SocketOptions, handlers: SocketHandlers): Socket {
  const socket = makeSocket(url, options)
  let stream: TcpSocket | undefined
  let corked = false
  let failure: NodeJS.ErrnoException | undefined
  socket.once('upgrade', (response) => {
    stream = response.socket
  })
  socket.on('open', () => handlers.onOpen())
  socket.on('message', (data, isBinary) => {
    // As plain bytes, because a Buffer's methods mean other things than those of the arrays that browsers give.
    if (isBinary && data instanceof Uint8Array) handlers.onMessage(asBytes(data))
    else socket.close(1003, NO_TEXT)
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    failure = error
  })
  socket.on('close', (code, reason) => {
    const why = failure && explained(failure, url)
    handlers.onClose(why || reason.toString() || `close code ${code}`, failure?.message.endsWith(' 401'))
  })
  const uncork = () => {
    if (corked) stream?.uncork()
    corked = false
  }
  const send = (message: Uint8Array) => {
    if (message.byteLength > JOINED_BYTES) uncork()
    else if (!corked && stream !== undefined) {
      corked = true
      stream.cork()
      process.nextTick(uncork)
    }
    socket.send(message)
  }
  return {
    send,
    close: () => socket.close(),
    get progress() {
      return (stream?.bytesRead ?? 0) - socket.bufferedAmount
    },
    leastPatience: 0,
  }
}

function makeSocket(url: string, { token, ca }: SocketOptions): WebSocket {
  const path = unixPath(url)
  return new WebSocket(path === undefined ? redirectable(url) : `ws://localhost/${/\?.*$/.exec(url) ?? ''}`, {
    ...OPTIONS,
    ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
    ...(ca === undefined ? {} : { ca: Buffer.from(ca) }),
    ...(path === undefined ? {} : { createConnection: connectTo(path) }),
  })
}

/** The URL as of a client that the server may redirect to itself: another connection may come to a thread that has fewer. */
function redirectable(url: string): URL {
  const address = new URL(url)
  address.searchParams.set('redirected', '0')
  return address
}

/**
 * The path in `ws+unix:PATH`, with or without the `:/` that the library wants behind it, and a query; undefined for other URLs.
 *
 * @throws SyntaxError for no path
 */
function unixPath(url: string): string | undefined {
  const [, path] = /^ws\+unix:(.*?)(?::\/)?(?:\?.*)?$/.exec(url) ?? []
  if (path === '') throw new SyntaxError('ws+unix: is followed by the path of a socket')
  return path
}

function connectTo(path: string): ClientOptions['createConnection'] {
  return () => connect(path)
}

/** A server's certificate that nobody known vouches for. */
const CERTIFICATE_CODES = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** What a refused connection to a Unix socket means. */
const UNIX_CODES: Readonly<Record<string, string>> = {
  ENOENT: 'no server listens at this path (serve --listen unix:PATH)',
  ECONNREFUSED: 'the server that listened at this path is gone',
  EACCES: "the mode of the socket's file says who may connect",
}

/** The library's message says only which HTTP status came in place of a WebSocket; some errors have a code alone. */
function explained({ message, code = '' }: NodeJS.ErrnoException, url: string): string {
  const atPath = unixPath(url) === undefined ? undefined : UNIX_CODES[code]
  if (atPath !== undefined) return `${message}; ${atPath}`
  if (message === 'socket hang up' && url.startsWith('ws:')) {
    return `${message}; if the server has a certificate, its address begins with wss://`
  }
  if (message.endsWith(' 503')) {
    return 'HTTP 503: the server is starting, stopping, or has as many clients as it takes'
  }
  if (CERTIFICATE_CODES.has(code)) {
    return `${message}; give the certificate that vouches for the server's as \`ca\` (--ca FILE)`
  }
  return message || code
}
