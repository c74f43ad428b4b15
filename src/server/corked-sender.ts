import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'

/** Replies of up to this size on average leave in one system call; larger ones gain nothing from waiting for each other. */
const CORKED_BYTES = 16 * 1024

/** Sends the replies of one connection. Those that become ready in the same turn of the event loop leave together. */
export class CorkedSender {
  readonly #socket: WebSocket
  readonly #stream: Duplex
  readonly #onSent: (bytes: number) => void
  #ready: (readonly Uint8Array[])[] = []
  #readyBytes = 0

  /**
   * @param stream the stream below the socket
   * @param onSent called whenever a reply has left, with its bytes
   */
  constructor(socket: WebSocket, stream: Duplex, onSent: (bytes: number) => void) {
    this.#socket = socket
    this.#stream = stream
    this.#onSent = onSent
  }

  /**
   * @param pieces one message, cut anywhere
   * @returns its bytes
   */
  send(pieces: readonly Uint8Array[]): number {
    if (this.#ready.length === 0) setImmediate(() => this.flush())
    this.#ready.push(pieces)
    const bytes = bytesOf(pieces)
    this.#readyBytes += bytes
    return bytes
  }

  flush(): void {
    const messages = this.#ready
    const corked = messages.length > 1 && this.#readyBytes <= messages.length * CORKED_BYTES
    this.#ready = []
    this.#readyBytes = 0
    if (corked) this.#stream.cork()
    for (const pieces of messages) this.#sendMessage(pieces)
    if (corked) this.#stream.uncork()
  }

  #sendMessage(pieces: readonly Uint8Array[]): void {
    const last = pieces.length - 1
    pieces.forEach((piece, i) => {
      if (i < last) this.#socket.send(piece, { binary: true, fin: false })
      else this.#socket.send(piece, { binary: true, fin: true }, () => this.#onSent(bytesOf(pieces)))
    })
  }
}

function bytesOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
}
