import type { Kernels } from '../../device/device.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { ArenaContent } from '../arena.js'
import { LANES, SLOTS } from '../layout.js'
import type { Hits, RangeSearch } from './hits.js'
import type { ListedTuples, PayloadHits } from './payload-hits.js'
import type { ReadContext, ReadWork } from './read-context.js'
import { ScanRanges } from './scan-ranges.js'

/** Searches ranges at full width, level by level: for large limits. */
export class BreadthFirst {
  readonly #context: ReadContext
  readonly #ranges: ScanRanges
  readonly #payloadHits: PayloadHits
  readonly #kernels: Kernels<'begin_search' | 'count_children' | 'write_children'>

  constructor(context: ReadContext, payloadHits: PayloadHits) {
    this.#context = context
    this.#ranges = new ScanRanges(context)
    this.#payloadHits = payloadHits
    const entryPoints = ['begin_search', 'count_children', 'write_children'] as const
    this.#kernels = context.kernels('breadth-first', entryPoints)
  }

  /** The first entries of each range. */
  record(work: ReadWork, search: RangeSearch): Hits {
    // One entry more than the limit, to know whether there are more, and the tuples at the two ends of the range, which may
    // have no payload in it.
    const tuples = this.#tuples(work, search, search.limit + 3)
    return this.#payloadHits.record(work, search, tuples).hits
  }

  /** The numbers of all `tupleCount` tuples that a tree has, in ascending key order. */
  order(work: ReadWork<ArenaContent>, tupleCount: number): DeviceMemory {
    const ranges = this.#ranges.record(work, { ranges: 1 })
    const search = { ...ranges, count: 1, reverse: false, limit: tupleCount }
    // A level of a coalesced tree has a node in each lane for every key that was ever written, at most.
    const { coalesced } = this.#context.tree.conditions
    const most = coalesced ? LANES * work.arena.tuples.records : tupleCount
    return this.#tuples(work, search, most).tuples
  }

  /** The first `most` tuples of each range. */
  #tuples(work: ReadWork<ArenaContent>, search: RangeSearch, most: number): ListedTuples {
    const { recorder, scratch, arena } = work
    const { primitives, tree } = this.#context
    const { count, ranges, reverse } = search
    const lengths = scratch.words(count)
    const paths = scratch.words(2 * count * tree.levels)
    const counts = scratch.words(count * most + 1)
    const positions = scratch.words(count * most + 1)
    let frontier = scratch.words(count * most)
    let next = scratch.words(count * most)
    const shape = { ranges: count, shape: tree.word, reverse: reverse ? 1 : 0 }
    const kernels = this.#kernels
    const begun = { firstFrontier: frontier, firstLengths: lengths, foundPaths: paths }
    recorder.dispatch(kernels.begin_search, { ...arena.bindings, ranges, ...begun }, shape, count)
    let width = 1
    for (let depth = 0; depth < tree.levels; depth++) {
      const nextWidth = Math.min(SLOTS * width, most)
      const places = count * width
      const params = { ...shape, depth, width, nextWidth }
      const level = { ...arena.bindings, ranges, frontier, lengths, paths, counts, positions }
      recorder.dispatch(kernels.count_children, level, params, places + 1)
      primitives.scan(recorder, scratch, counts, positions, places + 1)
      const written = { ...level, nextFrontier: next, nextLengths: lengths }
      recorder.dispatch(kernels.write_children, written, params, places)
      ;[frontier, next] = [next, frontier]
      width = nextWidth
    }
    return { tuples: frontier, width, lengths }
  }
}
