import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'

/** One message in pieces, and what is to be called when it has left or never will. */
export interface OutgoingMessage {
  /** Number of the request that it answers, in the order of arrival. */
  readonly order: number
  readonly pieces: readonly Uint8Array[]
  readonly onLeft?: (() => void) | undefined
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
  readonly #onSent: (bytes: number) => void
  #ready: OutgoingMessage[] = []

  /**
   * @param stream the stream below the socket
   * @param onSent called whenever bytes of replies have left
   */
  constructor(socket: WebSocket, stream: Duplex, onSent: (bytes: number) => void) {
    this.#socket = socket
    this.#stream = stream
    this.#onSent = onSent
  }

  /** Sends a message at the end of this turn, with what else becomes ready in it. @returns its bytes */
  send(message: OutgoingMessage): number {
    if (this.#ready.length === 0) process.nextTick(() => this.flush())
    this.#ready.push(message)
    return bytesOf(message)
  }

  flush(): void {
    const messages = this.#ready.sort((one, other) => one.order - other.order)
    this.#ready = []
    let small: OutgoingMessage[] = []
    for (const message of messages) {
      if (isSmall(message)) {
        small.push(message)
        continue
      }
      this.#sendTogether(small)
      small = []
      this.#sendFragments(message)
    }
    this.#sendTogether(small)
  }

  #sendTogether(messages: readonly OutgoingMessage[]): void {
    const last = messages.length - 1
    if (last < 0) return
    const onSent = () => {
      let bytes = 0
      for (const message of messages) {
        bytes += bytesOf(message)
        message.onLeft?.()
      }
      this.#onSent(bytes)
    }
    this.#stream.cork()
    messages.forEach(({ pieces }, i) => {
      this.#socket.send(pieces[0]!, WHOLE, i === last ? onSent : undefined)
    })
    this.#stream.uncork()
  }

  #sendFragments({ pieces, onLeft }: OutgoingMessage): void {
    const fragments = pieces.flatMap(fragmentsOf)
    fragments.forEach((fragment, i) => {
      const fin = i === fragments.length - 1
      this.#socket.send(fragment, { binary: true, fin }, () => {
        if (fin) onLeft?.()
        this.#onSent(fragment.byteLength)
      })
    })
  }
}

function isSmall({ pieces }: OutgoingMessage): boolean {
  return pieces.length === 1 && pieces[0]!.byteLength <= SMALL_BYTES
}

function fragmentsOf(piece: Uint8Array): Uint8Array | Uint8Array[] {
  if (piece.byteLength <= FRAGMENT_BYTES) return piece
  const fragments: Uint8Array[] = []
  for (let at = 0; at < piece.byteLength; at += FRAGMENT_BYTES) {
    fragments.push(piece.subarray(at, at + FRAGMENT_BYTES))
  }
  return fragments
}

/** Bytes of a message. */
export function bytesOf({ pieces }: Pick<OutgoingMessage, 'pieces'>): number {
  let bytes = 0
  for (const { byteLength } of pieces) bytes += byteLength
  return bytes
}
