import { asBytes } from '../../protocol/columns.js'

/** Smaller buffers are as fast to get from the allocator. */
const LEAST_BYTES = 1024 * 1024
/** Larger ones are rare: a record of a bulk load has 16 MiB and little more. */
const MOST_BYTES = 32 * LEAST_BYTES

/**
 * Buffers that are used again: in fresh memory the system hands out every page as it is first written to, which takes longer than all else
 * that is done to a large record.
 */
export class SpareBuffers {
  readonly #most: number
  readonly #spare: Buffer[] = []

  /** @param most buffers that are kept */
  constructor(most: number) {
    this.#most = most
  }

  /** A buffer of exactly so many bytes, with undefined content. */
  take(bytes: number): Buffer {
    if (bytes < LEAST_BYTES || bytes > MOST_BYTES) return Buffer.allocUnsafe(bytes)
    const at = this.#spare.findIndex(({ buffer }) => buffer.byteLength >= bytes)
    const whole = at < 0 ? wholeBuffer(bytes) : this.#spare.splice(at, 1)[0]!
    return Buffer.from(whole.buffer, 0, bytes)
  }

  /** Gives a buffer back that `take` gave and nobody looks at any more. */
  give({ buffer }: Buffer): void {
    if (buffer.byteLength < LEAST_BYTES || buffer.byteLength > MOST_BYTES) return
    if (this.#spare.length === this.#most) this.#spare.shift()
    this.#spare.push(Buffer.from(buffer))
  }
}

/** Of whole megabytes, so that records of about one size fit into each other's buffers. */
function wholeBuffer(bytes: number): Buffer {
  return Buffer.from(new ArrayBuffer(Math.ceil(bytes / LEAST_BYTES) * LEAST_BYTES))
}

/** Keys and payloads of two groups: more are there at a time only where several indexes are written to. */
const spare = new SpareBuffers(4)

/**
 * Memory for the columns of a group of writes, which the groups of all indexes take turns in: in fresh memory the system hands out every
 * page as it is first written to, and garbage is collected for it again and again.
 */
export class JoinedMemory {
  readonly #taken: Buffer[] = []

  /** So many bytes, with undefined content. They are no `Buffer`, whose `slice` would not copy them. */
  take(bytes: number): Uint8Array {
    const memory = spare.take(bytes)
    this.#taken.push(memory)
    return asBytes(memory)
  }

  /** Gives all of it back, to be called when nobody looks at it any more. */
  release(): void {
    for (const memory of this.#taken.splice(0)) spare.give(memory)
  }
}
