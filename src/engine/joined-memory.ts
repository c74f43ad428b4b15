import { SpareBuffers } from '../../persistence/log/spare-buffers.js'
import { asBytes } from '../../protocol/columns.js'

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
