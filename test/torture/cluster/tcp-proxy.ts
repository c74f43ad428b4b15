import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** Which way nothing comes through: as on a network that is cut, nobody is told, and what was sent arrives once it is mended. */
export interface Cut {
  readonly toServer: boolean
  readonly toClient: boolean
}

export const WHOLE: Cut = { toServer: false, toClient: false }

/** Passes on what comes by TCP, as long as the way is not cut. */
export class TcpProxy {
  readonly #server: Server
  readonly #target: () => number
  readonly #pairs = new Set<{ readonly client: Socket; readonly server: Socket }>()
  #cut = WHOLE

  private constructor(target: () => number) {
    this.#target = target
    this.#server = createServer((client) => this.#accept(client))
  }

  /** @param target the port of the server at the moment */
  static async open(target: () => number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  set cut(cut: Cut) {
    this.#cut = cut
    for (const pair of this.#pairs) this.#apply(pair)
  }

  close(): void {
    this.#server.close()
    for (const { client, server } of this.#pairs) {
      client.destroy()
      server.destroy()
    }
  }

  #accept(client: Socket): void {
    const server = connect(this.#target(), '127.0.0.1')
    const pair = { client, server }
    this.#pairs.add(pair)
    const end = () => {
      this.#pairs.delete(pair)
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) socket.setNoDelay().on('error', end).on('close', end)
    this.#apply(pair)
  }

  #apply({ client, server }: { readonly client: Socket; readonly server: Socket }): void {
    const { toServer, toClient } = this.#cut
    client.unpipe(server).pause()
    server.unpipe(client).pause()
    if (!toServer) client.pipe(server)
    if (!toClient) server.pipe(client)
  }
}
