import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { ReadContext } from './read-context.js'

/** Packs payloads that fill whole words into columns without padding. */
export class NarrowPayloads {
  readonly #kernel: Kernel

  private constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  static async create(context: ReadContext): Promise<NarrowPayloads> {
    return new NarrowPayloads(
      await context.kernel('narrow-payloads', 'narrow_payloads', ['read', 'write'], 2),
    )
  }

  /** The column of `count` payloads of `bytes` bytes; `padded` itself where they need no padding. */
  record(recorder: Recorder, scratch: Scratch, padded: GPUBuffer, count: number, bytes: number): GPUBuffer {
    if (bytes % 4 === 0) return padded
    const column = scratch.bytes(count * bytes)
    const words = Math.ceil((count * bytes) / 4)
    recorder.dispatch(this.#kernel, [padded, column], [count, bytes], words)
    return column
  }
}
