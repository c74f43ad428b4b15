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
  readonly #onSent: () => void
  #ready: OutgoingMessage[] = []
  #readyBytes = 0

  /**
   * @param stream the stream below the socket
   * @param onSent called whenever a reply has left
   */
  constructor(socket: WebSocket, stream: Duplex, onSent: () => void) {
    this.#socket = socket
    this.#stream = stream
    this.#onSent = onSent
  }

  /** Bytes that were handed over and have not left. */
  get queuedBytes(): number {
    return this.#readyBytes + this.#socket.bufferedAmount
  }

  send(message: OutgoingMessage): void {
    if (this.#ready.length === 0) setImmediate(() => this.flush())
    this.#ready.push(message)
    for (const { byteLength } of message.pieces) this.#readyBytes += byteLength
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

  #sendMessage({ pieces, onLeft }: OutgoingMessage): void {
    const last = pieces.length - 1
    const onSent = () => {
      onLeft?.()
      this.#onSent()
    }
    pieces.forEach((piece, i) => {
      if (i < last) this.#socket.send(piece, { binary: true, fin: false })
      else this.#socket.send(piece, { binary: true, fin: true }, onSent)
    })
  }
}
