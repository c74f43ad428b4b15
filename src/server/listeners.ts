import type { Monitor } from '../observe/monitor.js'
import { Flow } from './flow/flow.js'
import type { FlowLimits } from './flow/flow-limits.js'
import { Listener, type ListenerOptions } from './listener.js'
import type { LocalBackend } from './local-backend.js'
import type { ReplyMemory } from './reply-memory.js'
import { ListenerThreads } from './threads/listener-threads.js'
import { type Load, sumOf } from './threads/load.js'

interface Parts {
  readonly limits: FlowLimits
  readonly backend: LocalBackend
  readonly memory: ReplyMemory
  readonly monitor: Monitor
}

/** All that a server listens on: in threads of their own, or in this one. */
export class Listeners {
  readonly #parts: Parts
  readonly #flow: Flow
  readonly #own: Listener[] = []
  readonly #threads: ListenerThreads[] = []

  constructor(parts: Parts) {
    this.#parts = parts
    this.#flow = new Flow(parts.limits)
  }

  /**
   * Listens on all addresses, the first of which is a port.
   * @param threads that listen on the port; with any, a Unix socket has one, too
   * @returns the port
   * @throws WarpdexError `BAD_REQUEST`; `close` gives back what listens by then
   */
  async listen(addresses: readonly Omit<ListenerOptions, 'shared'>[], threads: number): Promise<number> {
    const { backend, monitor: meter } = this.#parts
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
      const own = new Listener({ ...options, shared: false }, { backend, flow: this.#flow, meter })
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
    const { inflow, outflow } = this.#flow
    const waiting = this.#own.flatMap(({ connections }) => connections.filter(({ requests }) => requests > 0))
    const own = {
      requests: inflow.requests,
      requestBytes: inflow.bytes,
      replyBytes: outflow.bytes,
      waitingClients: waiting.length,
    }
    return sumOf([own, ...this.#threads.map(({ load }) => load)])
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
    this.#flow.close()
  }
}
