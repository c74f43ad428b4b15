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
    return new Count(
      context,
      await context.kernel('count', 'count_payloads', [...TREE, 'read', 'write'], 2, 'search'),
    )
  }

  /** @returns u32, one a key */
  async run(arena: Arena, keys: Uint8Array, keyOffsets?: Uint32Array): Promise<Uint8Array> {
    const { tree } = this.#context
    const count = this.#context.count(keys, keyOffsets)
    const [counts] = await this.#context.run((recorder, scratch) => {
      const queries = this.#context.queries(recorder, scratch, keys, keyOffsets)
      const counts = scratch.words(count)
      const further = this.#context.further(arena, 'search', queries)
      const buffers = [...arena.buffers, queries.keys, counts, ...further]
      recorder.dispatch(this.#kernel, buffers, [count, tree.word], count)
      return [{ buffer: counts, bytes: 4 * count }]
    })
    return counts
  }
}
