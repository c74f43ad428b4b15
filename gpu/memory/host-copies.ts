import { totalmem } from 'node:os'

/** Of the machine's memory, at most. */
const HOST_PART = 1 / 8

/** A piece of a region on the host. It never changes. */
export interface HostChunk {
  readonly bytes: Uint8Array
  /** Of each of its pages (`page-out.wesl`). */
  readonly digests: Uint32Array
}

/** What a region held when it left the device. Later ones share the chunks in which nothing has changed. */
export class HostImage implements Iterable<Uint8Array> {
  readonly chunks: readonly HostChunk[]

  constructor(chunks: readonly HostChunk[]) {
    this.chunks = chunks
  }

  /** Bytes of host memory. */
  get bytes(): number {
    return this.chunks.reduce((sum, { bytes, digests }) => sum + bytes.byteLength + digests.byteLength, 0)
  }

  *[Symbol.iterator](): Iterator<Uint8Array> {
    for (const { bytes } of this.chunks) yield bytes
  }
}

/** What has a copy on the host, and can do without. */
interface Copied {
  dropHostCopy(): void
}

/**
 * What came to the device out of host memory and stays there, so that only pages that were written to are read back when it is paged out again. Where there
 * is no room for all, those that came first are dropped.
 */
export class HostCopies {
  readonly #most: number
  readonly #kept = new Map<Copied, number>()
  #bytes = 0
  /** Bytes that paging out has read back so far. */
  readBytes = 0

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
