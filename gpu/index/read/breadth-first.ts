import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Arena, ArenaContent } from '../arena.js'
import { SLOTS } from '../layout.js'
import type { Hits, RangeSearch } from './hits.js'
import type { ListedTuples, PayloadHits } from './payload-hits.js'
import { type ReadContext, TREE } from './read-context.js'
import { ScanRanges } from './scan-ranges.js'

/** Searches ranges at full width, level by level: for large limits. */
export class BreadthFirst {
  readonly #context: ReadContext
  readonly #ranges: ScanRanges
  readonly #payloadHits: PayloadHits
  readonly #begin: Kernel
  readonly #count: Kernel
  readonly #write: Kernel

  private constructor(
    context: ReadContext,
    ranges: ScanRanges,
    payloadHits: PayloadHits,
    kernels: readonly Kernel[],
  ) {
    this.#context = context
    this.#ranges = ranges
    this.#payloadHits = payloadHits
    this.#begin = kernels[0]
    this.#count = kernels[1]
    this.#write = kernels[2]
  }

  static async create(context: ReadContext, payloadHits: PayloadHits): Promise<BreadthFirst> {
    const counting = [...TREE, 'read', 'read', 'read', 'read', 'write'] as const
    const writing = [...TREE, 'read', 'read', 'read', 'read', 'write', 'write'] as const
    const kernels = await Promise.all([
      context.kernel('breadth-first', 'begin_search', [...TREE, 'read', 'write', 'write', 'write'], 6),
      context.kernel('breadth-first', 'count_children', counting, 6),
      context.kernel('breadth-first', 'write_children', writing, 6),
    ])
    return new BreadthFirst(context, await ScanRanges.create(context), payloadHits, kernels)
  }

  /** The first entries of each range. */
  record(recorder: Recorder, scratch: Scratch, arena: Arena, search: RangeSearch): Hits {
    // One entry more than the limit, to know whether there are more, and the tuples at the two ends of the range, which may
    // have no payload in it.
    const tuples = this.#tuples(recorder, scratch, arena, search, search.limit + 3)
    return this.#payloadHits.record(recorder, scratch, arena, search, tuples).hits
  }

  /** The numbers of all `tupleCount` tuples in ascending key order. */
  order(recorder: Recorder, scratch: Scratch, arena: ArenaContent, tupleCount: number): GPUBuffer {
    const ranges = this.#ranges.record(recorder, scratch, { ranges: 1, limit: tupleCount })
    const search = { ...ranges, count: 1, reverse: false, limit: tupleCount }
    return this.#tuples(recorder, scratch, arena, search, tupleCount).tuples
  }

  /** The first `most` tuples of each range. */
  #tuples(
    recorder: Recorder,
    scratch: Scratch,
    arena: ArenaContent,
    search: RangeSearch,
    most: number,
  ): ListedTuples {
    const { primitives, tree } = this.#context
    const { count, ranges, reverse } = search
    const lengths = scratch.words(count)
    const paths = scratch.words(2 * count * tree.levels)
    const counts = scratch.words(count * most + 1)
    const positions = scratch.words(count * most + 1)
    let frontier = scratch.words(count * most)
    let next = scratch.words(count * most)
    const params = (depth: number, width: number, nextWidth: number) => {
      return [count, tree.word, reverse ? 1 : 0, depth, width, nextWidth]
    }
    recorder.dispatch(
      this.#begin,
      [...arena.buffers, ranges, frontier, lengths, paths],
      params(0, 1, 1),
      count,
    )
    let width = 1
    for (let depth = 0; depth < tree.levels; depth++) {
      const nextWidth = Math.min(SLOTS * width, most)
      const places = count * width
      const counting = [...arena.buffers, ranges, frontier, lengths, paths, counts]
      recorder.dispatch(this.#count, counting, params(depth, width, nextWidth), places + 1)
      primitives.scan(recorder, scratch, counts, positions, places + 1)
      const writing = [...arena.buffers, ranges, frontier, positions, paths, next, lengths]
      recorder.dispatch(this.#write, writing, params(depth, width, nextWidth), places)
      ;[frontier, next] = [next, frontier]
      width = nextWidth
    }
    return { tuples: frontier, width, lengths }
  }
}
