import type { Socket, SocketHandlers } from './socket.js'

/**
 * Opens a WebSocket of the browser. Package.json puts this module in the place of `socket-node.ts` in browsers' bundles.
 *
 * @throws SyntaxError when the URL is none that a WebSocket can connect to
 */
export function openSocket(url: string, handlers: SocketHandlers): Socket {
  const socket = new WebSocket(url)
  socket.binaryType = 'arraybuffer'
  socket.onopen = () => handlers.onOpen()
  socket.onmessage = ({ data }) => {
    if (data instanceof ArrayBuffer) handlers.onMessage(new Uint8Array(data))
    else socket.close()
  }
  socket.onclose = ({ code, reason }) => handlers.onClose(reason || `close code ${code}`)
  return { send: (bytes) => socket.send(bytes), close: () => socket.close() }
}
