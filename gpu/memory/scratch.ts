import type { BufferPool } from './buffer-pool.js'

/** Storage buffers that one operation needs for its duration, given back together. */
export class Scratch {
  readonly #pool: BufferPool
  readonly #admit: (bytes: number) => void
  #buffers: GPUBuffer[] = []
  #heldBytes = 0

  /** @param admit is told the bytes that would be held with the next buffer, and throws where they are too many */
  constructor(pool: BufferPool, admit: (bytes: number) => void = () => {}) {
    this.#pool = pool
    this.#admit = admit
  }

  /** Bytes of all buffers that are not given back. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** A storage buffer of at least this many bytes with undefined content. */
  bytes(bytes: number): GPUBuffer {
    this.#admit(this.#heldBytes + bytes)
    const buffer = this.#pool.acquire(bytes)
    this.#heldBytes += buffer.size
    this.#buffers.push(buffer)
    return buffer
  }

  /** A storage buffer of at least this many 32-bit words with undefined content. */
  words(words: number): GPUBuffer {
    return this.bytes(words * 4)
  }

  /** Gives every buffer back. Call it once the work that uses them is submitted. */
  release(): void {
    this.releaseAllBut(new Set())
  }

  /** The same, for an operation of several steps: what later ones still need stays. */
  releaseAllBut(kept: ReadonlySet<GPUBuffer>): void {
    for (const buffer of this.#buffers) {
      if (kept.has(buffer)) continue
      this.#heldBytes -= buffer.size
      this.#pool.release(buffer)
    }
    this.#buffers = this.#buffers.filter((buffer) => kept.has(buffer))
  }
}
