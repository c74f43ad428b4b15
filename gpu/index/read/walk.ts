import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Arena } from '../arena.js'
import { allocateHits, type Hits, type RangeSearch } from './hits.js'
import { type ReadContext, TREE } from './read-context.js'

/**
 * Searches ranges with one thread each: for small limits. A thread steps over the dead entries between live ones one by one;
 * that there are never many for long is up to compaction.
 */
export class Walk {
  readonly #context: ReadContext
  readonly #kernel: Kernel

  private constructor(context: ReadContext, kernel: Kernel) {
    this.#context = context
    this.#kernel = kernel
  }

  static async create(context: ReadContext): Promise<Walk> {
    const bindings = [...TREE, 'read', 'write', 'write', 'write'] as const
    return new Walk(context, await context.kernel('walk', 'walk_ranges', bindings, 4, 'ordered tree'))
  }

  /** The first entries of each range. */
  record(recorder: Recorder, scratch: Scratch, arena: Arena, search: RangeSearch): Hits {
    const { count, ranges, limit, reverse } = search
    const result = allocateHits(scratch, search)
    const further = this.#context.further(arena, 'ordered tree', search)
    recorder.dispatch(
      this.#kernel,
      [...arena.buffers, ranges, result.hits, result.found, result.more, ...further],
      [count, this.#context.tree.word, limit, reverse ? 1 : 0],
      count,
    )
    return result
  }
}
