import type { Monitor } from '../observe/monitor.js'
import { Flow } from './flow/flow.js'
import type { FlowLimits } from './flow/flow-limits.js'
import { Listener, type ListenerOptions } from './listener.js'
import type { LocalBackend } from './local-backend.js'
import type { ReplyMemory } from './reply-memory.js'
import { ListenerThreads } from './threads/listener-threads.js'
import type { Load } from './threads/messages.js'

interface Parts {
  readonly limits: FlowLimits
  readonly backend: LocalBackend
  readonly memory: ReplyMemory
  readonly monitor: Monitor
}

/** All that a server listens on: in threads of their own, or in this one. A Unix socket is this thread's. */
export class Listeners {
  readonly #parts: Parts
  readonly #flow: Flow
  readonly #own: Listener[] = []
  #threads: ListenerThreads | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.#flow = new Flow(parts.limits)
  }

  /**
   * Listens on all addresses, the first of which is a port.
   * @param threads that listen on the port
   * @returns the port
   * @throws WarpdexError `BAD_REQUEST`; `close` gives back what listens by then
   */
  async listen(addresses: readonly Omit<ListenerOptions, 'shared'>[], threads: number): Promise<number> {
    const ports: number[] = []
    for (const options of addresses) {
      if (options.address.path === undefined && threads > 0) {
        const listener = { ...options, shared: threads > 1 }
        this.#threads = new ListenerThreads(threads, { ...this.#parts, listener })
        ports.push(await this.#threads.listen(threads))
        continue
      }
      const { backend, monitor: meter } = this.#parts
      const own = new Listener({ ...options, shared: false }, { backend, flow: this.#flow, meter })
      ports.push(await own.listen())
      this.#own.push(own)
    }
    return ports[0] ?? 0
  }

  /** The engine is there. */
  begin(): void {
    this.#threads?.begin()
  }

  /** What all connections take. */
  get load(): Load {
    const { inflow, outflow } = this.#flow
    const waiting = this.#own.flatMap(({ connections }) => connections.filter(({ requests }) => requests > 0))
    const elsewhere = this.#threads?.load
    return {
      requests: inflow.requests + (elsewhere?.requests ?? 0),
      requestBytes: inflow.bytes + (elsewhere?.requestBytes ?? 0),
      replyBytes: outflow.bytes + (elsewhere?.replyBytes ?? 0),
      waitingClients: waiting.length + (elsewhere?.waitingClients ?? 0),
    }
  }

  /** Takes another certificate for connections from now on. */
  renew(tls: NonNullable<ListenerOptions['tls']>): void {
    this.#threads?.renew(tls)
    for (const listener of this.#own) listener.renew(tls)
  }

  /** Sees everybody out once their requests are answered. */
  async close(): Promise<void> {
    await Promise.all([this.#threads?.stop(), ...this.#own.map((listener) => listener.close())])
    this.#flow.close()
  }
}
