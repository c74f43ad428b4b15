import { once } from 'node:events'
import { WebSocket } from 'ws'
import { type Frame, PROTOCOL_VERSION, type Sections } from '../../protocol/frame.js'
import { type RequestFields, Wire } from '../wire.js'

/** The fields of a request. */
export type RequestHeader = RequestFields & { readonly id: number }

/** A client that speaks the protocol frame by frame, and learns of the end of its connection. */
export class FrameClient {
  readonly #socket: WebSocket
  readonly #wire: Wire
  readonly #waiting = new Map<number, (frame: Frame | undefined) => void>()
  #isLost = false

  private constructor(socket: WebSocket) {
    this.#socket = socket
    this.#wire = new Wire(
      (frame) => socket.send(frame, () => {}),
      (reply) => {
        const resolve = this.#waiting.get(Number(reply.id))
        this.#waiting.delete(Number(reply.id))
        resolve?.(reply)
      },
    )
    socket.on('message', (data: Buffer) => this.#wire.received(data))
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
    await client.ask({ id: 0, op: 'hello', protocol: PROTOCOL_VERSION, client: name })
    return client
  }

  /** @returns the reply, or undefined when the connection ended before it came */
  ask(header: RequestHeader, sections: Sections = {}): Promise<Frame | undefined> {
    if (this.#isLost) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      this.#waiting.set(header.id, resolve)
      this.#wire.send(header, sections)
    })
  }

  close(): void {
    this.#socket.terminate()
  }
}
