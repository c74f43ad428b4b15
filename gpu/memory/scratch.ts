import type { BufferPool } from './buffer-pool.js'

/** Storage buffers that one operation needs for its duration, given back together. */
export class Scratch {
  readonly #pool: BufferPool
  readonly #buffers: GPUBuffer[] = []

  constructor(pool: BufferPool) {
    this.#pool = pool
  }

  /** A storage buffer of at least this many bytes with undefined content. */
  bytes(bytes: number): GPUBuffer {
    const buffer = this.#pool.acquire(bytes)
    this.#buffers.push(buffer)
    return buffer
  }

  /** A storage buffer of at least this many 32-bit words with undefined content. */
  words(words: number): GPUBuffer {
    return this.bytes(words * 4)
  }

  /** Gives every buffer back. Call it once the work that uses them is submitted. */
  release(): void {
    for (const buffer of this.#buffers) this.#pool.release(buffer)
    this.#buffers.length = 0
  }
}
