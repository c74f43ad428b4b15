import type { FlowLimits } from './flow-limits.js'

/** Replies of all connections that have not left. */
export class SharedOutflow {
  readonly #limits: FlowLimits
  readonly #connections = new Set<Outflow>()
  #bytes = 0

  constructor(limits: FlowLimits) {
    this.#limits = limits
  }

  get bytes(): number {
    return this.#bytes
  }

  join(one: Outflow): void {
    this.#connections.add(one)
  }

  leave(one: Outflow): void {
    if (this.#connections.delete(one)) this.#bytes -= one.bytes
  }

  /** Bytes that wait now, or that left where they are negative. Past the bound the connection with the most of them is cut. */
  count(bytes: number): void {
    this.#bytes += bytes
    while (this.#bytes > this.#limits.replyBytesInAll) {
      const [first, ...others] = this.#connections
      if (first === undefined) return
      others.reduce((most, one) => (one.bytes > most.bytes ? one : most), first).cut()
    }
  }
}

/** Replies of one connection that have not left. */
export class Outflow {
  readonly #limits: FlowLimits
  readonly #shared: SharedOutflow
  readonly #onCut: () => void
  #bytes = 0
  #closed = false
  #moved = false
  /** Seconds for which no reply has left though some wait. */
  #idle = 0

  /** @param onCut ends the connection at once, since its replies take too much of what there is for all */
  constructor(limits: FlowLimits, shared: SharedOutflow, onCut: () => void) {
    this.#limits = limits
    this.#shared = shared
    this.#onCut = onCut
    shared.join(this)
  }

  get bytes(): number {
    return this.#bytes
  }

  /** How much of the bound waits, 1 for all of it. */
  get load(): number {
    return this.#bytes / this.#limits.replyBytesQueued
  }

  /** A reply of so many bytes waits. */
  queued(bytes: number): void {
    if (this.#closed) return
    this.#bytes += bytes
    this.#shared.count(bytes)
  }

  /** It has left. */
  sent(bytes: number): void {
    if (this.#closed) return
    this.#moved = true
    this.#bytes -= bytes
    this.#shared.count(-bytes)
  }

  /**
   * Time goes by.
   * @returns whether the client takes too long to read: no reply has left for long, though even a slow client has one by then
   */
  tick(seconds: number): boolean {
    this.#idle = this.#moved || this.#bytes === 0 ? 0 : this.#idle + seconds
    this.#moved = false
    return this.#idle > this.#limits.stallSeconds + this.#bytes / this.#limits.slowestBytesPerSecond
  }

  cut(): void {
    this.close()
    this.#onCut()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#shared.leave(this)
  }
}
