import { once } from 'node:events'
import type { Test } from 'tap'
import { type ClientOptions, WebSocket } from 'ws'
import { decodeFrame, encodeFrame, type Frame, type Sections } from '../../../protocol/frame.js'

/** A client that speaks the protocol frame by frame, and may speak it badly. */
export class RawClient {
  readonly socket: WebSocket
  readonly #replies: Frame[] = []
  #wake: () => void = () => {}

  private constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('message', (data: Buffer) => {
      this.#replies.push(decodeFrame(data))
      this.#wake()
    })
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

  send(header: object, sections: Sections = {}): void {
    this.socket.send(encodeFrame(header, sections))
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

  async ask(header: object, sections?: Sections): Promise<Frame> {
    this.send(header, sections)
    return this.reply()
  }
}
