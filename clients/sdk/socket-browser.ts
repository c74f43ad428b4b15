import { tokenSubprotocols } from '../../protocol/bearer.js'
import type { Socket, SocketHandlers, SocketOptions } from './socket.js'

const REFUSED =
  'nobody there, or the server needs a token, does not know the one given, or takes no pages of this origin; browsers do not say which'

/**
 * Opens a WebSocket of the browser. Package.json puts this module in the place of `socket-node.ts` in browsers' bundles.
 *
 * @throws SyntaxError when the URL is none that a WebSocket can connect to
 */
export function openSocket(url: string, { token }: SocketOptions, handlers: SocketHandlers): Socket {
  const socket = new WebSocket(url, token === undefined ? [] : tokenSubprotocols(token))
  let opened = false
  let received = 0
  socket.binaryType = 'arraybuffer'
  socket.onopen = () => {
    opened = true
    handlers.onOpen()
  }
  socket.onmessage = ({ data }) => {
    received++
    if (data instanceof ArrayBuffer) handlers.onMessage(new Uint8Array(data))
    else socket.close()
  }
  socket.onclose = ({ code, reason }) => {
    handlers.onClose(opened ? reason || `close code ${code}` : REFUSED)
  }
  return {
    send: (bytes) => socket.send(bytes),
    close: () => socket.close(),
    get progress() {
      return received - socket.bufferedAmount
    },
    // A large message may come for so long, of which browsers tell nothing before its end.
    leastPatience: 60_000,
  }
}
