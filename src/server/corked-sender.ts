import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'

/** Replies of up to this size on average leave in one system call; larger ones gain nothing from waiting for each other. */
const CORKED_BYTES = 16 * 1024

/** One message, cut anywhere, and what is to be called when it has left or never will. */
export interface OutgoingMessage {
  readonly pieces: readonly Uint8Array[]
  readonly onLeft?: (() => void) | undefined
}

/** Sends the replies of one connection. Those that become ready in the same turn of the event loop leave together. */
export class CorkedSender {
  readonly #socket: WebSocket
  readonly #stream: Duplex
  readonly #onSent: (bytes: number) => void
  #ready: OutgoingMessage[] = []
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

  /** @returns the message's bytes */
  send(message: OutgoingMessage): number {
    if (this.#ready.length === 0) setImmediate(() => this.flush())
    this.#ready.push(message)
    const bytes = bytesOf(message)
    this.#readyBytes += bytes
    return bytes
  }

  flush(): void {
    const messages = this.#ready
    const corked = messages.length > 1 && this.#readyBytes <= messages.length * CORKED_BYTES
    this.#ready = []
    this.#readyBytes = 0
    if (corked) this.#stream.cork()
    for (const message of messages) this.#sendMessage(message)
    if (corked) this.#stream.uncork()
  }

  #sendMessage(message: OutgoingMessage): void {
    const { pieces, onLeft } = message
    const bytes = bytesOf(message)
    const last = pieces.length - 1
    const onSent = () => {
      onLeft?.()
      this.#onSent(bytes)
    }
    pieces.forEach((piece, i) => {
      if (i < last) this.#socket.send(piece, { binary: true, fin: false })
      else this.#socket.send(piece, { binary: true, fin: true }, onSent)
    })
  }
}

/** Bytes of a message. */
export function bytesOf({ pieces }: OutgoingMessage): number {
  return pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
}
