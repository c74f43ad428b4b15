import type { Device } from '../../../gpu/device/device.js'
import type { Kernel } from '../../../gpu/device/kernel.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import { groupsFor, type Strategy } from '../../../gpu/primitives/strategy.js'
import {
  type ColumnShape,
  type Columns,
  columnBuffers,
  columnConditions,
  ifPayload,
} from '../../../gpu/relational/columns.js'
import { PAPER_KERNELS } from '../kernels.js'

/** Elements of the longest segment that is sorted in workgroup memory, and positions of a window; as in `bitonic.wesl`. */
export const LONGEST_SEGMENT = 1024

/** Segments of columns. */
export interface Segments {
  /** Start of each segment, ascending; a segment ends where the next one starts. */
  readonly starts: GPUBuffer
  readonly count: number
  /** Segments with odd numbers are in order already. */
  readonly settledOdd?: boolean
}

/** Bitonic sort of segments of columns of one shape (`bitonic.wesl`), in one dispatch. */
export class BitonicSort {
  readonly #strategy: Strategy
  readonly #sortSegments: Kernel

  private constructor(strategy: Strategy, sortSegments: Kernel) {
    this.#strategy = strategy
    this.#sortSegments = sortSegments
  }

  static async create(device: Device, strategy: Strategy, shape: ColumnShape): Promise<BitonicSort> {
    const sortSegments = await device.kernel({
      folder: PAPER_KERNELS,
      module: 'he/bitonic',
      entryPoint: 'sort_segments',
      params: 3,
      bindings: [],
      further: [[0, 'read'], [1, 'write'], ...ifPayload(shape, [2, 'write']), [3, 'write']],
      conditions: { ...columnConditions(shape), serial: strategy === 'serial' },
    })
    return new BitonicSort(strategy, sortSegments)
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
    const buffers = [segments.starts, ...columnBuffers(columns), scratch.words(count)]
    const params = [count, segments.count, settledOdd]
    recorder.dispatchGroups(this.#sortSegments, buffers, params, groupsFor(this.#strategy, tiles))
  }
}
