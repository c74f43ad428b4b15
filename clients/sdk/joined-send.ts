import { randomFillSync } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { JOINED_BYTES, joinedFrames } from '../../protocol/websocket-frames.js'

/** What sends on a socket. */
export interface JoinedSend {
  send(message: Uint8Array): void
  /** Sends what waits for the end of the turn. */
  flush(): void
}

/**
 * How to send on a socket: small messages that are sent in one turn leave as one piece, in one system call, which costs more than all
 * else that a client does for a small request. None waits longer than to the end of the turn.
 */
export function joinedSend(socket: WebSocket): JoinedSend {
  let stream: Duplex | undefined
  let waiting: Uint8Array[] = []
  socket.once('upgrade', (response) => {
    stream = response.socket
  })
  const flush = () => {
    const messages = waiting
    if (messages.length === 0) return
    waiting = []
    // To one that is closing nothing is said any more.
    if (socket.readyState === socket.OPEN) stream?.write(joinedFrames(messages, nextMask))
  }
  return {
    flush,
    send: (message) => {
      if (stream !== undefined && message.byteLength <= JOINED_BYTES) {
        if (waiting.length === 0) process.nextTick(flush)
        waiting.push(message)
        return
      }
      flush()
      socket.send(message)
    },
  }
}

/** Random numbers that are made at once. */
const masks = new Uint32Array(2048)
let used = masks.length

/** What a frame is masked with: nobody can know it before (RFC 6455, section 5.3). */
function nextMask(): number {
  if (used === masks.length) {
    randomFillSync(masks)
    used = 0
  }
  return masks[used++]!
}
