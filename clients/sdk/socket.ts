/** What happens on a WebSocket. */
export interface SocketHandlers {
  onOpen(): void
  onMessage(bytes: Uint8Array): void
  /** Called once, also when the connection could not be opened; `unauthorised` where the server did not take the token. */
  onClose(reason: string, unauthorised?: boolean): void
}

export interface SocketOptions {
  readonly token: string | undefined
  /** Certificates in PEM form to trust, and no others; browsers have their own way. */
  readonly ca: string | Uint8Array | undefined
}

/** A WebSocket of binary messages, the same in Node and in browsers. */
export interface Socket {
  send(bytes: Uint8Array<ArrayBuffer>): void
  close(): void
  /** Grows when something comes or leaves. */
  readonly progress: number
  /** Milliseconds without progress that mean nothing. */
  readonly leastPatience: number
}
