import type { Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Arena } from '../arena.js'
import { EXTENT_HEADER } from '../layout.js'
import type { RangeSearch } from './hits.js'
import type { NarrowPayloads } from './narrow-payloads.js'
import type { ReadContext } from './read-context.js'
import type { ScanColumns } from './scan-result.js'

/** Logarithm of the threads that write one range's entries side by side, two each at a time, at most. */
const MOST_LANE_BITS = 8

/** Whether all payloads lie in the sorted part, one a tuple, and none has left it. */
export function isContiguous({ sorted, tuples, extents }: Arena): boolean {
  if (sorted === undefined || sorted.hasRemoved) return false
  return tuples.records === sorted.tuples && extents.records === EXTENT_HEADER
}

/** Where ranges lie in a sorted part, a word a range. */
export interface SortedWindows {
  /** The first tuple in scan order. */
  readonly windows: GPUBuffer
  /** Tuples, and room for one word more. */
  readonly found: GPUBuffer
  /** 1 where there are more. */
  readonly more: GPUBuffer
}

/** Scans of CSS-trees in which what lies in a range is contiguous (`contiguous-scan.wesl`). */
export class ContiguousScan {
  readonly #context: ReadContext
  readonly #narrow: NarrowPayloads
  readonly #kernels: Kernels<'find_ranges' | 'write_ranges'>

  constructor(context: ReadContext, narrow: NarrowPayloads) {
    this.#context = context
    this.#narrow = narrow
    const conditions = { tuple_quads: context.tree.tupleStride === 4 }
    this.#kernels = context.kernels('contiguous-scan', ['find_ranges', 'write_ranges'], conditions)
  }

  /** The first entries of each range, of an arena that `isContiguous`. */
  record(recorder: Recorder, scratch: Scratch, arena: Arena, search: RangeSearch): ScanColumns {
    const { primitives, tree, keyBytes, payloadBytes, paddedBytes } = this.#context
    const { count, limit, reverse } = search
    const laneBits = Math.min(Math.ceil(Math.log2(Math.max(2, limit))) - 1, MOST_LANE_BITS)
    const params = { ranges: count, shape: tree.word, limit, reverse: reverse ? 1 : 0, laneBits }
    const { windows, found: offsets, more } = this.recordWindows(recorder, scratch, arena, search)
    // One element more than there are ranges, so that the last offset is the number of all entries.
    recorder.clear(offsets, 4 * count, 4)
    primitives.scan(recorder, scratch, offsets, offsets, count + 1)
    const entries = count * limit
    const keys = scratch.bytes(entries * keyBytes)
    const padded = scratch.bytes(entries * paddedBytes)
    const tokens = scratch.bytes(count * (keyBytes + 4))
    recorder.clear(tokens, 0, count * (keyBytes + 4))
    const written = { ...arena.bindings, begins: windows, offsets, keys, payloads: padded, tokens }
    recorder.dispatch(this.#kernels.write_ranges, written, params, count * 2 ** laneBits)
    const total = { buffer: offsets, index: count }
    return {
      offsets,
      keys,
      payloads: this.#narrow.record(recorder, scratch, padded, entries, payloadBytes, total),
      more: this.#narrow.record(recorder, scratch, more, count, 1),
      tokens,
    }
  }

  /** The first tuples of each range in the sorted part: as many as `limit`. */
  recordWindows(
    recorder: Recorder,
    scratch: Scratch,
    arena: Arena,
    { count, limit, reverse, ranges, heap }: RangeSearch,
  ): SortedWindows {
    const windows = scratch.words(count)
    const found = scratch.words(count + 1)
    const more = scratch.words(count)
    const buffers = { ...arena.bindings, queryHeap: heap, ranges, windows, found, more }
    const params = { ranges: count, shape: this.#context.tree.word, limit, reverse: reverse ? 1 : 0 }
    recorder.dispatch(this.#kernels.find_ranges, buffers, params, count)
    return { windows, found, more }
  }
}
