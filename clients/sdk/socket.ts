/** What happens on a WebSocket. */
export interface SocketHandlers {
  onOpen(): void
  onMessage(bytes: Uint8Array): void
  /** Called once, also when the connection could not be opened. */
  onClose(reason: string): void
}

/** A WebSocket of binary messages, the same in Node and in browsers. */
export interface Socket {
  send(bytes: Uint8Array<ArrayBuffer>): void
  close(): void
}
