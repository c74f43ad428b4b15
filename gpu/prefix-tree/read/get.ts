import type { Kernel } from '../../device/kernel.js'
import type { GetResult } from '../../index-structure.js'
import type { Arena } from '../arena.js'
import type { NarrowPayloads } from './narrow-payloads.js'
import { bitmapBytes, type ReadContext, TREE } from './read-context.js'

/** The first payload of each key. */
export class Get {
  readonly #context: ReadContext
  readonly #narrow: NarrowPayloads
  readonly #kernel: Kernel

  private constructor(context: ReadContext, narrow: NarrowPayloads, kernel: Kernel) {
    this.#context = context
    this.#narrow = narrow
    this.#kernel = kernel
  }

  static async create(context: ReadContext, narrow: NarrowPayloads): Promise<Get> {
    const kernel = await context.kernel('get', 'get_first', [...TREE, 'read', 'write', 'write'], 2)
    return new Get(context, narrow, kernel)
  }

  async run(arena: Arena, keys: Uint8Array): Promise<GetResult> {
    const { tree, keyBytes, payloadBytes, paddedBytes } = this.#context
    const count = keys.byteLength / keyBytes
    const [found, payloads] = await this.#context.run((recorder, scratch) => {
      const queries = this.#context.upload(scratch, keys)
      const found = scratch.bytes(bitmapBytes(count))
      const padded = scratch.bytes(count * paddedBytes)
      const buffers = [...arena.buffers, queries, found, padded]
      recorder.dispatch(this.#kernel, buffers, [count, tree.word], count)
      const column = this.#narrow.record(recorder, scratch, padded, count, payloadBytes)
      return [
        { buffer: found, bytes: bitmapBytes(count) },
        { buffer: column, bytes: count * payloadBytes },
      ]
    })
    return { found, payloads }
  }
}
