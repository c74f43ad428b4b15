import { totalmem } from 'node:os'

/** Of the machine's memory, at most. */
const HOST_PART = 1 / 8

/** What has a copy on the host, and can do without. */
interface Copied {
  dropHostCopy(): void
}

/**
 * What came to the device out of host memory and stays there, so that it needs not be read back when it is paged out, unless it is written to. Where there
 * is no room for all, those that came first are dropped.
 */
export class HostCopies {
  readonly #most: number
  readonly #kept = new Map<Copied, number>()
  #bytes = 0

  constructor(most = totalmem() * HOST_PART) {
    this.#most = most
  }

  /** Bytes that all of them take. */
  get bytes(): number {
    return this.#bytes
  }

  keep(copied: Copied, bytes: number): void {
    this.drop(copied)
    this.#kept.set(copied, bytes)
    this.#bytes += bytes
    for (const first of this.#kept.keys()) {
      if (this.#bytes <= this.#most) return
      this.drop(first)
      first.dropHostCopy()
    }
  }

  drop(copied: Copied): void {
    this.#bytes -= this.#kept.get(copied) ?? 0
    this.#kept.delete(copied)
  }
}
