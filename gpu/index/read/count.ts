import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Arena } from '../arena.js'
import { type Queries, type ReadContext, TREE } from './read-context.js'

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

  /** Counts for `count` keys that are on the device: a word a key. */
  record(recorder: Recorder, arena: Arena, queries: Queries, counts: GPUBuffer, count: number): void {
    const further = this.#context.further(arena, 'search', queries)
    const buffers = [...arena.buffers, queries.keys, counts, ...further]
    recorder.dispatch(this.#kernel, buffers, [count, this.#context.tree.word], count)
  }

  /** @returns u32, one a key */
  async run(arena: Arena, keys: Uint8Array, keyOffsets?: Uint32Array): Promise<Uint8Array> {
    const count = this.#context.count(keys, keyOffsets)
    const [counts] = await this.#context.run((recorder, scratch) => {
      const queries = this.#context.queries(recorder, scratch, keys, keyOffsets)
      const counts = scratch.words(count)
      this.record(recorder, arena, queries, counts, count)
      return [{ buffer: counts, bytes: 4 * count }]
    })
    return counts
  }
}
