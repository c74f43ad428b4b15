import type { Kernels } from '../../device/device.js'
import { SEARCH_GROUP_SIZE } from '../../device/recorder.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Hits, RangeSearch } from './hits.js'
import type { PayloadHits } from './payload-hits.js'
import type { ReadContext, ReadWork } from './read-context.js'
import type { ScanColumns, ScanResultWriter } from './scan-result.js'

/** Logarithm of the threads that write one range's entries side by side, two each at a time, at most. */
const MOST_LANE_BITS = 8

/** Scans of the sorted parts of CSS-trees, where what lies in a range is contiguous (`contiguous-scan.wesl`). */
export class ContiguousScan {
  readonly #context: ReadContext
  readonly #result: ScanResultWriter
  readonly #payloadHits: PayloadHits
  readonly #kernels: Kernels<'find_ranges' | 'list_tuples' | 'write_ranges'>

  constructor(context: ReadContext, result: ScanResultWriter, payloadHits: PayloadHits) {
    this.#context = context
    this.#result = result
    this.#payloadHits = payloadHits
    const conditions = { tuple_quads: context.tree.tupleStride === 4 }
    const entryPoints = ['find_ranges', 'list_tuples', 'write_ranges'] as const
    this.#kernels = context.kernels('contiguous-scan', entryPoints, conditions)
  }

  /** The first entries of each range, of an arena that `isContiguous`. */
  record(work: ReadWork, search: RangeSearch): ScanColumns {
    const { count, limit } = search
    const laneBits = Math.min(Math.ceil(Math.log2(Math.max(2, limit))) - 1, MOST_LANE_BITS)
    const { windows, found, more } = this.#find(work, search)
    return this.#result.recordColumns(work, search, { found, more }, (columns) => {
      const buffers = { ...work.arena.bindings, begins: windows, ...columns }
      const params = { ...this.#paramsOf(search), laneBits }
      work.recorder.dispatch(this.#kernels.write_ranges, buffers, params, count * 2 ** laneBits)
    })
  }

  /**
   * The first entries in the sorted part of ranges whose ends belong to them, of an arena from whose sorted part no tuple has left, and
   * whose tuples may have several payloads.
   */
  recordHits(work: ReadWork, search: RangeSearch): Hits {
    const { count, limit } = search
    // Each tuple has a payload, so that one tuple more than the limit tells that there are more.
    const width = limit + 1
    const inPart = { ...search, limit: width }
    const { windows, found } = this.#find(work, inPart)
    const tuples = work.scratch.words(count * width)
    const buffers = { begins: windows, counts: found, listed: tuples }
    work.recorder.dispatch(this.#kernels.list_tuples, buffers, this.#paramsOf(inPart), count * width)
    return this.#payloadHits.record(work, search, { tuples, width, lengths: found }).hits
  }

  /** Finds the first tuple of each range in scan order, how many there are, `limit` at most, and whether there are more. */
  #find(work: ReadWork, search: RangeSearch): Omit<Hits, 'hits'> & { windows: DeviceMemory } {
    const { recorder, scratch, arena } = work
    const { count, ranges, heap } = search
    const columns = {
      windows: scratch.words(count),
      found: scratch.words(count + 1),
      more: scratch.words(count),
    }
    const buffers = { ...arena.bindings, queryHeap: heap, ranges, ...columns }
    const groups = Math.ceil(count / SEARCH_GROUP_SIZE)
    recorder.dispatchGroups(this.#kernels.find_ranges, buffers, this.#paramsOf(search), groups)
    return columns
  }

  #paramsOf({ count, limit, reverse }: RangeSearch): Readonly<Record<string, number>> {
    return { ranges: count, shape: this.#context.tree.word, limit, reverse: reverse ? 1 : 0 }
  }
}
