import type { Monitor } from '../observe/monitor.js'
import { Backpressure, type Load, sumOf } from './backpressure/backpressure.js'
import type { BackpressureLimits } from './backpressure/backpressure-limits.js'
import { Listener, type ListenerOptions } from './listener.js'
import type { LocalBackend } from './local-backend.js'
import type { ReplyMemory } from './reply-memory.js'
import { ListenerThreads } from './threads/listener-threads.js'

interface Parts {
  readonly limits: BackpressureLimits
  readonly backend: LocalBackend
  readonly memory: ReplyMemory
  readonly monitor: Monitor
}

/** All that a server listens on: in threads of their own, or in this one. */
export class Listeners {
  readonly #parts: Parts
  readonly #backpressure: Backpressure
  readonly #own: Listener[] = []
  readonly #threads: ListenerThreads[] = []

  constructor(parts: Parts) {
    this.#parts = parts
    this.#backpressure = new Backpressure(parts.limits)
  }

  /**
   * Listens on all addresses, the first of which is a port.
   * @param threads that listen on the port; with any, a Unix socket has one, too
   * @returns the port
   * @throws WarpdexError `BAD_REQUEST`; `close` gives back what listens by then
   */
  async listen(addresses: readonly Omit<ListenerOptions, 'shared'>[], threads: number): Promise<number> {
    const { backend, monitor } = this.#parts
    const { meters } = monitor
    const onSlowConsumer = (queuedBytes: number) => monitor.slowConsumer(queuedBytes)
    const ports: number[] = []
    for (const options of addresses) {
      if (threads > 0) {
        const count = options.address.path === undefined ? threads : 1
        const listener = { ...options, shared: count > 1 }
        const group = new ListenerThreads(threads + addresses.length - 1, { ...this.#parts, listener })
        this.#threads.push(group)
        ports.push(await group.listen(count))
        continue
      }
      const own = new Listener(
        { ...options, shared: false },
        { backend, backpressure: this.#backpressure, meters, onSlowConsumer },
      )
      ports.push(await own.listen())
      this.#own.push(own)
    }
    return ports[0] ?? 0
  }

  /** The engine is there. */
  begin(): void {
    for (const group of this.#threads) group.begin()
  }

  /** What all connections take. */
  get load(): Load {
    return sumOf([this.#backpressure.load, ...this.#threads.map(({ load }) => load)])
  }

  /** Takes another certificate for connections from now on. */
  renew(tls: NonNullable<ListenerOptions['tls']>): void {
    for (const group of this.#threads) group.renew(tls)
    for (const listener of this.#own) listener.renew(tls)
  }

  /** Sees everybody out once their requests are answered. */
  async close(): Promise<void> {
    await Promise.all([
      ...this.#threads.map((group) => group.stop()),
      ...this.#own.map((listener) => listener.close()),
    ])
    this.#backpressure.close()
  }
}
