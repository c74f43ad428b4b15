import { OWN_MEMORY, type ResultMemory } from '../../gpu/memory/result-memory.js'
import { HEAD_ROOM } from '../../protocol/data-frame.js'

/** Results below this size get memory of their own: to make it costs no more than to keep account of it. */
const LEAST_BYTES = 64 * 1024

/** Memory that is lent for one reply. */
export interface LentMemory extends ResultMemory {
  /** Takes the memory back once the reply has left. */
  release(): void
}

/**
 * Memory for the columns of large replies, used again and again: the pages of a fresh allocation cost several times as much as the
 * copy into it. Every thread can read it, and in front of each piece there is room for the head of a frame.
 */
export class ReplyMemory {
  /** By size, which is a power of two. */
  readonly #free = new Map<number, Uint8Array[]>()
  readonly #mostKept: number
  #kept = 0

  /** @param mostKept bytes to keep that are not in use */
  constructor(mostKept: number) {
    this.#mostKept = mostKept
  }

  /** Bytes that are kept and not in use. */
  get keptBytes(): number {
    return this.#kept
  }

  lend(): LentMemory {
    const lent: Uint8Array[] = []
    return {
      allocate: (bytes) => {
        if (bytes < LEAST_BYTES) return OWN_MEMORY.allocate(bytes)
        const size = 2 ** Math.ceil(Math.log2(HEAD_ROOM + bytes))
        const kept = this.#free.get(size)?.pop()
        if (kept !== undefined) this.#kept -= size
        const block = kept ?? new Uint8Array(new SharedArrayBuffer(size))
        lent.push(block)
        return block.subarray(HEAD_ROOM, HEAD_ROOM + bytes)
      },
      release: () => {
        for (const block of lent.splice(0)) {
          const size = block.byteLength
          if (this.#kept + size > this.#mostKept) continue
          this.#kept += size
          const blocks = this.#free.get(size) ?? []
          this.#free.set(size, blocks)
          blocks.push(block)
        }
      },
    }
  }
}

/** Whether these bytes are of such memory: in results no other memory is shared. */
export function isReplyMemory({ buffer }: Uint8Array): boolean {
  return buffer instanceof SharedArrayBuffer
}
