const FIN = 0x80
const OPCODE = 0x0f
const CONTROL = 0x08
const MASKED = 0x80
const LENGTH = 0x7f
const MASK_BYTES = 4

/** Tells where WebSocket messages begin in a stream of bytes (RFC 6455, section 5.2). Whether frames are as they should be is not looked at. */
export class MessageBoundaries {
  readonly #header: number[] = []
  /** Bytes of the present frame's payload that have not come. */
  #left = 0
  /** Whether the present message has further frames. */
  #unfinished = false

  /** Whether the next byte begins a message, or a control frame that is in none. */
  get between(): boolean {
    return this.#header.length === 0 && this.#left === 0 && !this.#unfinished
  }

  /**
   * Goes on by what came next.
   * @returns the places in it where messages and control frames that are in none have ended, each behind the last byte
   */
  advance(chunk: Uint8Array): number[] {
    const ends: number[] = []
    let at = 0
    while (at < chunk.length) {
      if (this.#left > 0) {
        const step = Math.min(this.#left, chunk.length - at)
        this.#left -= step
        at += step
      } else {
        this.#header.push(chunk[at++]!)
        this.#readHeader()
      }
      if (this.between) ends.push(at)
    }
    return ends
  }

  /** Begins with the payload, if the header is complete. */
  #readHeader(): void {
    const [first = 0, second] = this.#header
    if (second === undefined) return
    const length = second & LENGTH
    const lengthBytes = length < 126 ? 0 : length === 126 ? 2 : 8
    const maskBytes = (second & MASKED) === 0 ? 0 : MASK_BYTES
    if (this.#header.length < 2 + lengthBytes + maskBytes) return
    const written = this.#header.slice(2, 2 + lengthBytes)
    this.#left = lengthBytes === 0 ? length : written.reduce((sum, byte) => sum * 256 + byte, 0)
    if ((first & OPCODE & CONTROL) === 0) this.#unfinished = (first & FIN) === 0
    this.#header.length = 0
  }
}
