/** The smallest size class; also the alignment that WebGPU wants of binding offsets. */
const SMALLEST = 256

/** A spare buffer takes the place of one that is at least this part of it: smaller ones are made in little time. */
const LEAST_SPARED = 1 / 32

/** Spare buffers that are made at a time, so that requests come in between. */
const SPARES_AT_ONCE = 4

/** How a pool gets buffers ahead of need. */
export interface Spares {
  /** Bytes of each, a power of two. */
  readonly size: number
  readonly count: number
  /** Makes one that is ready for its first use; undefined where there is no room for it. */
  make(): GPUBuffer | undefined
  /** Calls back when the device has had nothing to do for a while. */
  whenIdle(call: () => void): void
}

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
  #spares: Spares | undefined
  #isRestocking = false

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
    return this.#takeFree(size) ?? this.#takeSpare(size) ?? this.#note(this.#create(size), size)
  }

  /**
   * Has spare buffers made in idle time from now on, which take the place of smaller ones of which none is unused: making one takes longer than most of
   * what is done with it.
   */
  keepSpares(spares: Spares): void {
    this.#spares = spares
    this.#restock()
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

  #takeFree(size: number): GPUBuffer | undefined {
    const buffer = this.#free.get(size)?.pop()
    if (buffer !== undefined) this.#freeBytes -= size
    return buffer
  }

  #takeSpare(size: number): GPUBuffer | undefined {
    const spares = this.#spares
    if (spares === undefined || size > spares.size || size < spares.size * LEAST_SPARED) return undefined
    this.#restock()
    return this.#takeFree(spares.size)
  }

  #note(buffer: GPUBuffer, size: number): GPUBuffer {
    this.#made.set(buffer, { size, age: this.#created++ })
    return buffer
  }

  #restock(): void {
    const spares = this.#spares
    if (spares === undefined || this.#isRestocking) return
    this.#isRestocking = true
    spares.whenIdle(() => {
      this.#isRestocking = false
      const { size, count } = spares
      for (let made = 0; (this.#free.get(size)?.length ?? 0) < count; made++) {
        if (this.#freeBytes + size > this.#keptBytes) return
        if (made === SPARES_AT_ONCE) return this.#restock()
        const buffer = spares.make()
        if (buffer === undefined) return
        this.release(this.#note(buffer, size))
      }
    })
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
