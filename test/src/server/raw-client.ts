import { once } from 'node:events'
import type { Test } from 'tap'
import { type ClientOptions, WebSocket } from 'ws'
import type { Frame, Sections } from '../../../protocol/frame.js'
import { type Opened, type RequestFields, Wire } from '../../wire.js'

/** A client that speaks the protocol frame by frame, and may speak it badly. */
export class RawClient {
  readonly socket: WebSocket
  readonly #wire: Wire
  readonly #replies: Frame[] = []
  #wake: () => void = () => {}

  private constructor(socket: WebSocket) {
    this.socket = socket
    this.#wire = new Wire(
      (frame) => socket.send(frame),
      (reply) => {
        this.#replies.push(reply)
        this.#wake()
      },
    )
    socket.on('message', (data: Buffer) => this.#wire.received(data))
  }

  static async connect(
    t: Test,
    url: string,
    options: ClientOptions = {},
    protocols: readonly string[] = [],
  ): Promise<RawClient> {
    const socket = new WebSocket(url, [...protocols], { perMessageDeflate: false, ...options })
    const client = new RawClient(socket)
    t.teardown(() => socket.terminate())
    await once(socket, 'open')
    return client
  }

  send(header: RequestFields, sections: Sections = {}): void {
    this.#wire.send(header, sections)
  }

  /** The next reply that came. */
  async reply(): Promise<Frame> {
    while (this.#replies.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return this.#replies.shift()!
  }

  /** Sends a request and takes the next reply. An index that is created is opened at once. */
  async ask(header: RequestFields, sections?: Sections): Promise<Frame> {
    this.send(header, sections)
    const reply = await this.reply()
    if (header.op === 'createIndex' && reply.header.ok === true) await this.#wire.open(String(header.index))
    return reply
  }

  /** @throws Error where there is no such index */
  async open(index: string): Promise<Opened> {
    const opened = await this.#wire.open(index)
    if (opened !== undefined) return opened
    throw new Error(`index "${index}" cannot be opened`)
  }
}
