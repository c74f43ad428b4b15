import type { Kernel } from '../../device/kernel.js'
import { GROUP_SIZE, type Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import type { ReadContext } from './read-context.js'

/** In place of a word's index: there is no such word. */
const NONE = 0xffffffff

/** Packs payloads that fill whole words into columns without padding. */
export class NarrowPayloads {
  readonly #context: ReadContext
  readonly #kernel: Kernel

  private constructor(context: ReadContext, kernel: Kernel) {
    this.#context = context
    this.#kernel = kernel
  }

  static async create(context: ReadContext): Promise<NarrowPayloads> {
    const kernel = await context.kernel('narrow-payloads', 'narrow_payloads', ['read', 'read', 'write'], 3)
    return new NarrowPayloads(context, kernel)
  }

  /**
   * The column of `count` payloads of `bytes` bytes; `padded` itself where they need no padding.
   * @param live how many there are if the device knows it to be fewer
   */
  record(
    recorder: Recorder,
    scratch: Scratch,
    padded: GPUBuffer,
    count: number,
    bytes: number,
    live: DeviceWord = { buffer: padded, index: NONE },
  ): GPUBuffer {
    if (bytes % 4 === 0) return padded
    const column = scratch.bytes(count * bytes)
    const groups = Math.ceil((count * bytes) / (4 * GROUP_SIZE))
    recorder.dispatchGroups(
      this.#kernel,
      [padded, live.buffer, column],
      [count, bytes, live.index],
      Math.min(groups, this.#context.enoughGroups),
    )
    return column
  }
}
