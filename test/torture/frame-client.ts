import { WebSocket } from 'ws'
import { type Frame, PROTOCOL_VERSION, type Sections } from '../../protocol/frame.js'
import { type RequestFields, Wire } from '../wire.js'

/** The fields of a request. */
export type RequestHeader = RequestFields & { readonly id: number }

/** Of requests that have no number of their own. */
const FIRST_ID = 2 ** 40

/** A client that speaks the protocol frame by frame, and learns of the end of its connection. */
export class FrameClient {
  readonly #socket: WebSocket
  readonly #wire: Wire
  readonly #waiting = new Map<number, (frame: Frame | undefined) => void>()
  #isLost = false
  #nextId = FIRST_ID

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

  /**
   * One whose connection cannot be made is as one whose connection has ended.
   * @param name under which the server remembers its writes
   */
  static async connect(url: string, name: string): Promise<FrameClient> {
    const socket = new WebSocket(url, { perMessageDeflate: false })
    const client = new FrameClient(socket)
    await new Promise((resolve) => {
      socket.once('open', resolve)
      socket.once('close', resolve)
    })
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

  /** An id that no other request has. */
  nextId(): number {
    return this.#nextId++
  }

  /** Opens an index again before its data is asked for the next time. */
  forget(index: string): void {
    this.#wire.forget(index)
  }

  close(): void {
    this.#socket.terminate()
  }
}
