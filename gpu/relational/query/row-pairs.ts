import type { Device, Kernels } from '../../device/device.js'
import type { DeviceWork } from './device-work.js'
import type { RowNumbers } from './fetch.js'

/** Numbers of rows of two sides, place by place. */
export interface RowPairs {
  readonly left: RowNumbers
  readonly right: RowNumbers
}

/** Pairs of a product (`row-pairs.wesl`). */
export class RowPairsWriter {
  readonly #kernels: Kernels<'write_pairs'>

  constructor(device: Device) {
    this.#kernels = device.kernels('relational/query/row-pairs', ['write_pairs'])
  }

  /** @param first number of the first pair */
  record(work: DeviceWork, first: number, count: number, rightRows: number): RowPairs {
    const left = work.words(count)
    const right = work.words(count)
    const firstPair = { firstLeft: Math.floor(first / rightRows), firstRight: first % rightRows }
    work.recorder.dispatch(
      this.#kernels.write_pairs,
      { left, right },
      { count, ...firstPair, rightRows },
      count,
    )
    return { left: { buffer: left, outer: false }, right: { buffer: right, outer: false } }
  }
}
