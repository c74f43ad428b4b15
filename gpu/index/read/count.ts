import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { ReadColumns, ReadRequest } from '../../index-structure.js'
import type { Arena } from '../arena.js'
import { type Queries, type ReadContext, TREE } from './read-context.js'
import { keysOf, type ReadOperation, type SearchedTree } from './read-operation.js'

/** The number of payloads of each key. */
export class Count implements ReadOperation<'count'> {
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

  async run(
    { arena }: SearchedTree,
    _request: ReadRequest<'count'>,
    columns: ReadColumns,
  ): Promise<Uint8Array> {
    const keys = keysOf(columns)
    const count = this.#context.count(keys)
    const [counts] = await this.#context.run((recorder, scratch) => {
      const queries = this.#context.queries(recorder, scratch, keys)
      const counts = scratch.words(count)
      this.record(recorder, arena, queries, counts, count)
      return [{ buffer: counts, bytes: 4 * count }]
    })
    return counts
  }

  none(_request: ReadRequest<'count'>, columns: ReadColumns): Uint8Array {
    return new Uint8Array(4 * this.#context.count(keysOf(columns)))
  }
}
