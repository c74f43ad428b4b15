import type { Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Arena } from '../arena.js'
import { allocateHits, type Hits, type RangeSearch } from './hits.js'
import type { ReadContext } from './read-context.js'

/**
 * Searches ranges with one thread each: for small limits. A thread steps over the dead entries between live ones one by one;
 * that there are never many for long is up to compaction.
 */
export class Walk {
  readonly #context: ReadContext
  readonly #kernels: Kernels<'walk_ranges'>

  constructor(context: ReadContext) {
    this.#context = context
    this.#kernels = context.kernels('walk', ['walk_ranges'])
  }

  /** The first entries of each range. */
  record(recorder: Recorder, scratch: Scratch, arena: Arena, search: RangeSearch): Hits {
    const { count, ranges, heap: queryHeap, limit, reverse } = search
    const result = allocateHits(scratch, search)
    recorder.dispatch(
      this.#kernels.walk_ranges,
      { ...arena.bindings, queryHeap, ranges, ...result },
      { ranges: count, shape: this.#context.tree.word, limit, reverse: reverse ? 1 : 0 },
      count,
    )
    return result
  }
}
