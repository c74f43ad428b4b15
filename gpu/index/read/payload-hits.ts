import type { Kernels } from '../../device/device.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import { allocateHits, type Hits, type RangeSearch } from './hits.js'
import type { ReadContext, ReadWork } from './read-context.js'

/** Tuples of ranges, on the device: `width` places a range, of which the first `lengths[range]` are taken. */
export interface ListedTuples {
  readonly tuples: DeviceMemory
  readonly width: number
  readonly lengths: DeviceMemory
}

/** Finds the live payloads of listed tuples. */
export class PayloadHits {
  readonly #context: ReadContext
  readonly #kernels: Kernels<'measure_lists' | 'measure_ends' | 'place_hits' | 'place_long'>

  constructor(context: ReadContext) {
    this.#context = context
    const entryPoints = ['measure_lists', 'measure_ends', 'place_hits', 'place_long'] as const
    this.#kernels = context.kernels('payload-hits', entryPoints)
  }

  /**
   * The first `limit` live payloads of each range's tuples.
   * @returns the hits, and how many payloads there are before each place and in all, of which at most `limit` + 1 of any one
   * tuple are counted
   */
  record(
    work: ReadWork,
    search: RangeSearch,
    { tuples, width, lengths }: ListedTuples,
  ): { hits: Hits; positions: DeviceMemory } {
    const { recorder, scratch, arena } = work
    const { primitives, tree } = this.#context
    const { count, ranges, limit, reverse } = search
    const places = count * width
    const counts = scratch.words(places + 1)
    const positions = scratch.words(places + 1)
    const windows = scratch.words(2 * places)
    const result = allocateHits(scratch, search)
    const params = { ranges: count, shape: tree.word, limit, reverse: reverse ? 1 : 0, width }
    const kernels = this.#kernels
    const listed = { ...arena.bindings, listed: tuples, lengths }
    const measured = { ...listed, queryHeap: search.heap, ranges, counts, foundWindows: windows }
    recorder.dispatch(kernels.measure_lists, measured, params, places + 1)
    const ends = { ...listed, endWindows: windows, endCounts: counts }
    recorder.dispatchGroups(kernels.measure_ends, ends, params, 2 * count)
    primitives.scan(recorder, scratch, counts, positions, places + 1)
    const longCount = scratch.words(1)
    const longList = scratch.words(places)
    recorder.clear(longCount, 0, 4)
    const placed = { ...listed, windows, positions, ...result, longCount, longList }
    recorder.dispatch(kernels.place_hits, placed, params, places)
    const long = { ...placed, longNumber: longCount, longPlaces: longList, longHits: result.hits }
    recorder.dispatchGroups(kernels.place_long, long, params, Math.min(places, this.#context.enoughGroups))
    return { hits: result, positions }
  }
}
