import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'

/** One message in pieces, and memory of theirs that is free when it has left or never will. */
export interface OutgoingMessage {
  /** Number of the request that it answers, in the order of arrival. */
  readonly order: number
  readonly pieces: readonly Uint8Array[]
  /** Of all pieces. */
  readonly bytes: number
  readonly memory?: { release(): void } | undefined
}

/** Messages of up to this size that are ready together leave in one system call; larger ones would gain nothing. */
const SMALL_BYTES = 16 * 1024

/** A large message leaves in fragments of this size: each tells when it has left, so that a slow reader is told from one that does not read. */
const FRAGMENT_BYTES = 1024 * 1024

const WHOLE = { binary: true, fin: true } as const

/**
 * Sends the replies of one connection. Those that are ready together leave in the order of their requests: a client that makes requests again
 * which were refused together makes them in that order.
 */
export class ReplySender {
  readonly #socket: WebSocket
  readonly #stream: Duplex
  readonly #backpressure: { sent(bytes: number): void }
  #ready: OutgoingMessage[] = []

  /**
   * @param stream the stream below the socket
   * @param backpressure told of bytes of replies that have left
   */
  constructor(socket: WebSocket, stream: Duplex, backpressure: { sent(bytes: number): void }) {
    this.#socket = socket
    this.#stream = stream
    this.#backpressure = backpressure
  }

  /** Sends a message at the end of this turn, with what else becomes ready in it. */
  send(message: OutgoingMessage): void {
    if (this.#ready.length === 0) process.nextTick(() => this.flush())
    this.#ready.push(message)
  }

  flush(): void {
    const messages = this.#ready.sort((one, other) => one.order - other.order)
    this.#ready = []
    let small: OutgoingMessage[] = []
    for (const message of messages) {
      if (message.pieces.length === 1 && message.bytes <= SMALL_BYTES) {
        small.push(message)
        continue
      }
      if (small.length > 0) this.#sendTogether(small)
      small = []
      this.#sendFragments(message)
    }
    if (small.length > 0) this.#sendTogether(small)
  }

  #sendTogether(messages: readonly OutgoingMessage[]): void {
    const onSent = () => {
      let sent = 0
      for (const { bytes, memory } of messages) {
        sent += bytes
        memory?.release()
      }
      this.#backpressure.sent(sent)
    }
    this.#stream.cork()
    for (const message of messages)
      this.#socket.send(message.pieces[0]!, WHOLE, message === messages.at(-1) ? onSent : undefined)
    this.#stream.uncork()
  }

  #sendFragments({ pieces, bytes, memory }: OutgoingMessage): void {
    let left = bytes
    for (const piece of pieces) {
      for (let at = 0; at < piece.byteLength; at += FRAGMENT_BYTES) {
        const fragment = piece.subarray(at, at + FRAGMENT_BYTES)
        left -= fragment.byteLength
        const fin = left === 0
        this.#socket.send(fragment, { binary: true, fin }, () => {
          if (fin) memory?.release()
          this.#backpressure.sent(fragment.byteLength)
        })
      }
    }
  }
}
