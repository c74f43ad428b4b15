import { WebSocket } from 'ws'
import { asBytes } from '../../protocol/columns.js'
import { LIMITS } from '../../protocol/limits.js'
import { joinedSend } from './joined-send.js'
import type { Socket, SocketHandlers, SocketOptions } from './socket.js'

const NO_TEXT = 'the server sent text instead of a frame'
/**
 * Compression is on in this library's clients by default; it costs more than it saves on columns. `closeTimeout`
 * (milliseconds for the server to answer the closing of a connection) is missing from the library's types.
 */
const OPTIONS = { perMessageDeflate: false, maxPayload: LIMITS.frameBytes, closeTimeout: 2000 }

/**
 * Opens a WebSocket.
 *
 * @throws SyntaxError when the URL is none that a WebSocket can connect to
 */
export function openSocket(url: string, { token, ca }: SocketOptions, handlers: SocketHandlers): Socket {
  const socket = new WebSocket(url, {
    ...OPTIONS,
    ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
    ...(ca === undefined ? {} : { ca: Buffer.from(ca) }),
  })
  let failure = ''
  let unauthorised = false
  socket.on('open', () => handlers.onOpen())
  socket.on('message', (data, isBinary) => {
    // As plain bytes, because a Buffer's methods mean other things than those of the arrays that browsers give.
    if (isBinary && data instanceof Uint8Array) handlers.onMessage(asBytes(data))
    else socket.close(1003, NO_TEXT)
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    failure = explained(error, url)
    unauthorised = error.message.endsWith(' 401')
  })
  socket.on('close', (code, reason) => {
    handlers.onClose(failure || reason.toString() || `close code ${code}`, unauthorised)
  })
  const { send, flush } = joinedSend(socket)
  const close = () => {
    flush()
    socket.close()
  }
  return { send, close }
}

/** A server's certificate that nobody known vouches for. */
const CERTIFICATE_CODES = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** The library's message says only which HTTP status came in place of a WebSocket; some errors have a code alone. */
function explained({ message, code = '' }: NodeJS.ErrnoException, url: string): string {
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
