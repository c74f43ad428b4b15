import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'

/** Frames above this size leave by themselves: they gain nothing from waiting for each other. */
const CORKED_BYTES = 16 * 1024

/**
 * How to send on a socket: small frames that are sent in one turn leave in one system call, which costs more than all else that
 * a client does for a small request. None waits longer than to the end of the turn.
 */
export function corkedSend(socket: WebSocket): (frame: Uint8Array) => void {
  let stream: Duplex | undefined
  let corked = false
  socket.once('upgrade', (response) => {
    stream = response.socket
  })
  return (frame) => {
    if (stream !== undefined && !corked && frame.byteLength <= CORKED_BYTES) {
      corked = true
      stream.cork()
      process.nextTick(() => {
        corked = false
        stream?.uncork()
      })
    }
    socket.send(frame)
  }
}
