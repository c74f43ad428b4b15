import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { JOINED_BYTES, joinedFrames } from '../../protocol/websocket-frames.js'

/** One message, cut anywhere, and what is to be called when it has left or never will. */
export interface OutgoingMessage {
  readonly pieces: readonly Uint8Array[]
  readonly onLeft?: (() => void) | undefined
}

/**
 * Sends the replies of one connection. Small ones that become ready together, by one answer of the device or of another thread, leave as one
 * piece, in one system call.
 */
export class ReplySender {
  readonly #socket: WebSocket
  readonly #stream: Duplex
  readonly #onSent: (bytes: number) => void
  #ready: OutgoingMessage[] = []

  /**
   * @param stream the stream below the socket
   * @param onSent called whenever replies have left, with their bytes
   */
  constructor(socket: WebSocket, stream: Duplex, onSent: (bytes: number) => void) {
    this.#socket = socket
    this.#stream = stream
    this.#onSent = onSent
  }

  /** @returns the message's bytes */
  send(message: OutgoingMessage): number {
    if (this.#ready.length === 0) process.nextTick(() => this.flush())
    this.#ready.push(message)
    return bytesOf(message)
  }

  flush(): void {
    const messages = this.#ready
    if (messages.length === 0) return
    this.#ready = []
    let small: OutgoingMessage[] = []
    for (const message of messages) {
      if (isSmall(message)) {
        small.push(message)
        continue
      }
      this.#sendJoined(small)
      small = []
      this.#sendPieces(message)
    }
    this.#sendJoined(small)
  }

  /** As the library would, but with one piece in place of two for each message. */
  #sendJoined(messages: readonly OutgoingMessage[]): void {
    if (messages.length === 0) return
    const onSent = () => {
      let bytes = 0
      for (const message of messages) {
        bytes += bytesOf(message)
        message.onLeft?.()
      }
      this.#onSent(bytes)
    }
    const frames = messages.map(({ pieces }) => pieces[0]!)
    // To one that is closing nothing is said any more.
    if (this.#socket.readyState === this.#socket.OPEN) this.#stream.write(joinedFrames(frames), onSent)
    else onSent()
  }

  #sendPieces(message: OutgoingMessage): void {
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

function isSmall({ pieces }: OutgoingMessage): boolean {
  return pieces.length === 1 && pieces[0]!.byteLength <= JOINED_BYTES
}

/** Bytes of a message. */
export function bytesOf({ pieces }: OutgoingMessage): number {
  let bytes = 0
  for (const { byteLength } of pieces) bytes += byteLength
  return bytes
}
