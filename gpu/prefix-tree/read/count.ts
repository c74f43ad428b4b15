import type { Kernel } from '../../device/kernel.js'
import type { Arena } from '../arena.js'
import { type ReadContext, TREE } from './read-context.js'

/** The number of payloads of each key. */
export class Count {
  readonly #context: ReadContext
  readonly #kernel: Kernel

  private constructor(context: ReadContext, kernel: Kernel) {
    this.#context = context
    this.#kernel = kernel
  }

  static async create(context: ReadContext): Promise<Count> {
    return new Count(context, await context.kernel('count', 'count_payloads', [...TREE, 'read', 'write'], 2))
  }

  /** @returns u32, one a key */
  async run(arena: Arena, keys: Uint8Array): Promise<Uint8Array> {
    const { tree, keyBytes } = this.#context
    const count = keys.byteLength / keyBytes
    const [counts] = await this.#context.run((recorder, scratch) => {
      const queries = this.#context.upload(scratch, keys)
      const counts = scratch.words(count)
      recorder.dispatch(this.#kernel, [...arena.buffers, queries, counts], [count, tree.word], count)
      return [{ buffer: counts, bytes: 4 * count }]
    })
    return counts
  }
}
