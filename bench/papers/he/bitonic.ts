import type { Device, Kernels } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import { groupsFor, type Strategy } from '../../../gpu/primitives/strategy.js'
import { PAPER_KERNELS } from '../kernels.js'
import { type ColumnShape, type Columns, columnConditions } from './columns.js'

/** Elements of the longest segment that is sorted in workgroup memory, and positions of a window; as in `bitonic.wesl`. */
export const LONGEST_SEGMENT = 1024

/** Segments of columns. */
export interface Segments {
  /** Start of each segment, ascending; a segment ends where the next one starts. */
  readonly starts: DeviceMemory
  readonly count: number
  /** Segments with odd numbers are in order already. */
  readonly settledOdd?: boolean
}

/** Bitonic sort of segments of columns of one shape (`bitonic.wesl`), in one dispatch. */
export class BitonicSort {
  readonly #strategy: Strategy
  readonly #kernels: Kernels<'sort_segments'>

  constructor(device: Device, strategy: Strategy, shape: ColumnShape) {
    const conditions = { ...columnConditions(shape), serial: strategy === 'serial' }
    this.#strategy = strategy
    this.#kernels = device.kernels('he/bitonic', ['sort_segments'], conditions, PAPER_KERNELS)
  }

  /**
   * Sorts each segment by key where it lies, stably. Segments of more than `LONGEST_SEGMENT` elements are sorted too, but each by
   * one workgroup in global memory, which takes long.
   * @param columns `count` elements, all of which are in segments
   */
  record(recorder: Recorder, scratch: Scratch, columns: Columns, count: number, segments: Segments): void {
    const settledOdd = segments.settledOdd ? 1 : 0
    const serial = Math.ceil(segments.count / (1 + settledOdd))
    const tiles = this.#strategy === 'serial' ? serial : Math.ceil(count / LONGEST_SEGMENT)
    const buffers = { starts: segments.starts, ...columns, order: scratch.words(count) }
    const params = { count, segments: segments.count, settledOdd }
    recorder.dispatchGroups(this.#kernels.sort_segments, buffers, params, groupsFor(this.#strategy, tiles))
  }
}
