import { once } from 'node:events'
import { WebSocket } from 'ws'
import { decodeFrame, encodeFrame, type Frame, type Sections } from '../../protocol/frame.js'

/** The fields of a request. */
export type RequestHeader = Readonly<Record<string, unknown>> & { readonly id: number }

/** A client that speaks the protocol frame by frame, and learns of the end of its connection. */
export class FrameClient {
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, (frame: Frame | undefined) => void>()
  #isLost = false

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (data: Buffer) => {
      const frame = decodeFrame(data)
      const resolve = this.#waiting.get(Number(frame.id))
      this.#waiting.delete(Number(frame.id))
      resolve?.(frame)
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#isLost = true
      for (const resolve of this.#waiting.values()) resolve(undefined)
      this.#waiting.clear()
    })
  }

  /** @param name under which the server remembers its writes */
  static async connect(url: string, name: string): Promise<FrameClient> {
    const socket = new WebSocket(url, { perMessageDeflate: false })
    await once(socket, 'open')
    const client = new FrameClient(socket)
    await client.ask({ id: 0, op: 'hello', protocol: 1, client: name })
    return client
  }

  /** @returns the reply, or undefined when the connection ended before it came */
  ask(header: RequestHeader, sections: Sections = {}): Promise<Frame | undefined> {
    if (this.#isLost) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      this.#waiting.set(header.id, resolve)
      this.#socket.send(encodeFrame(header, sections), () => {})
    })
  }

  close(): void {
    this.#socket.terminate()
  }
}
