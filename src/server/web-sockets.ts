import { WebSocketServer } from 'ws'
import { LIMITS } from '../../protocol/limits.js'

/** Makes WebSockets of connections that were upgraded. */
export function createWebSocketServer(): WebSocketServer {
  return new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: LIMITS.frameBytes,
    maxFragments: LIMITS.messageFragments,
    maxBufferedChunks: LIMITS.messageChunks,
  })
}
