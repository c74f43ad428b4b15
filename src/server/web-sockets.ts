import { WebSocketServer } from 'ws'
import { SUBPROTOCOL } from '../../protocol/bearer.js'
import { LIMITS } from '../../protocol/limits.js'

/** Makes WebSockets of connections that were upgraded. */
export function createWebSocketServer(): WebSocketServer {
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
