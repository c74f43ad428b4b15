import type { ClientFacts } from '../observe/client-facts.js'
import { Backpressure, type Load, sumOf } from './backpressure/backpressure.js'
import type { BackpressureLimits } from './backpressure/backpressure-limits.js'
import { Listener, type ListenerOptions } from './listener.js'
import type { Served } from './threads/backend-server.js'
import { ListenerThreads } from './threads/listener-threads.js'

interface Parts extends Served {
  readonly limits: BackpressureLimits
}

/** One address that is listened on, by this thread or by others. */
type Port = Pick<Listener, 'listen' | 'renew' | 'clients' | 'close'>

/** All that a server listens on: in threads of their own, or in this one. */
export class Listeners {
  readonly #parts: Parts
  /** Of the connections in this thread. */
  readonly #backpressure: Backpressure
  readonly #ports: Port[] = []
  /** Who knows what connections take. */
  readonly #loads: { readonly load: Load }[]

  constructor(parts: Parts) {
    this.#parts = parts
    this.#backpressure = new Backpressure(parts.limits)
    this.#loads = [this.#backpressure]
  }

  /**
   * Listens on all addresses, the first of which is a port.
   * @param threads that listen on the port; with any, a Unix socket has one, too
   * @returns the port
   * @throws WarpdexError `BAD_REQUEST`; `close` gives back what listens by then
   */
  async listen(addresses: readonly ListenerOptions[], threads: number): Promise<number> {
    const shares = threads + addresses.length - 1
    const numbers: number[] = []
    for (const options of addresses) {
      const count = options.address.path === undefined ? threads : 1
      const port = threads > 0 ? this.#inThreads(options, count, shares) : this.#inThisThread(options)
      this.#ports.push(port)
      numbers.push(await port.listen())
    }
    return numbers[0] ?? 0
  }

  #inThreads(listener: ListenerOptions, count: number, shares: number): Port {
    const threads = new ListenerThreads({ ...this.#parts, listener, count, shares })
    this.#loads.push(threads)
    return threads
  }

  #inThisThread(listener: ListenerOptions): Port {
    const { backend, monitor } = this.#parts
    const onSlowConsumer = (queuedBytes: number) => monitor.slowConsumer(queuedBytes)
    const own = { backend, backpressure: this.#backpressure, meters: monitor.meters, observer: monitor }
    return new Listener(listener, { ...own, onSlowConsumer })
  }

  /** What all connections take. */
  get load(): Load {
    return sumOf(this.#loads.map(({ load }) => load))
  }

  /** All connections that are open. */
  async clients(): Promise<readonly ClientFacts[]> {
    return (await Promise.all(this.#ports.map((port) => port.clients()))).flat()
  }

  /** Takes another certificate for connections from now on. */
  renew(tls: NonNullable<ListenerOptions['tls']>): void {
    for (const port of this.#ports) port.renew(tls)
  }

  /** Sees everybody out once their requests are answered. */
  async close(): Promise<void> {
    await Promise.all(this.#ports.map((port) => port.close()))
    this.#backpressure.close()
  }
}
