/** The smallest size class; also the alignment that WebGPU wants of binding offsets. */
const SMALLEST = 256

/**
 * Buffers of one usage in size classes of powers of two, kept for the next user. Content is whatever the last user left. A
 * buffer may be released once the work that uses it is submitted: the queue is in order, so a later user comes after. Of the
 * unused ones the oldest goes first, so that operations that are alike get the same buffers in the same places, and find their
 * bind groups made.
 */
export class BufferPool {
  readonly #create: (size: number) => GPUBuffer
  readonly #largest: number
  readonly #keptBytes: number
  /** Unused buffers by size, the oldest last. */
  readonly #free = new Map<number, GPUBuffer[]>()
  /** Of every buffer that was made here: asking it for its size takes longer. */
  readonly #made = new WeakMap<GPUBuffer, { readonly size: number; readonly age: number }>()
  #freeBytes = 0
  #created = 0

  /**
   * @param create makes a buffer of exactly this many bytes
   * @param largest bytes of the largest buffer, which need not be a power of two
   * @param keptBytes bytes of unused buffers to keep; what is released past it is destroyed
   */
  constructor(create: (size: number) => GPUBuffer, largest: number, keptBytes: number) {
    this.#create = create
    this.#largest = largest
    this.#keptBytes = keptBytes
  }

  /** A buffer of at least `bytes` bytes. */
  acquire(bytes: number): GPUBuffer {
    const size = this.sizeOf(bytes)
    const buffer = this.#free.get(size)?.pop()
    if (buffer !== undefined) {
      this.#freeBytes -= size
      return buffer
    }
    const created = this.#create(size)
    this.#made.set(created, { size, age: this.#created++ })
    return created
  }

  release(buffer: GPUBuffer): void {
    const { size, age } = this.#made.get(buffer)!
    if (this.#freeBytes + size > this.#keptBytes) {
      buffer.destroy()
      return
    }
    this.#freeBytes += size
    const list = this.#free.get(size) ?? []
    this.#free.set(size, list)
    let at = list.length
    while (at > 0 && this.#made.get(list[at - 1]!)!.age < age) at--
    list.splice(at, 0, buffer)
  }

  /** Destroys every unused buffer. */
  destroy(): void {
    for (const list of this.#free.values()) for (const buffer of list) buffer.destroy()
    this.#free.clear()
    this.#freeBytes = 0
  }

  /** Bytes of the buffer that `acquire` gives. */
  sizeOf(bytes: number): number {
    const power = 2 ** Math.ceil(Math.log2(Math.max(bytes, SMALLEST)))
    return bytes <= this.#largest ? Math.min(power, this.#largest) : power
  }
}
