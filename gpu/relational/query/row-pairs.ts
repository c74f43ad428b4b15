import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { DeviceWork } from './device-work.js'
import type { RowNumbers } from './fetch.js'

/** Numbers of rows of two sides, place by place. */
export interface RowPairs {
  readonly left: RowNumbers
  readonly right: RowNumbers
}

/** Pairs of a product (`row-pairs.wesl`). */
export class RowPairsWriter {
  readonly #kernel: Kernel

  private constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  static async create(device: Device): Promise<RowPairsWriter> {
    const kernel = await device.kernel({
      module: 'relational/query/row-pairs',
      entryPoint: 'write_pairs',
      bindings: ['write', 'write'],
      params: 4,
    })
    return new RowPairsWriter(kernel)
  }

  /** @param first number of the first pair */
  record(work: DeviceWork, first: number, count: number, rightRows: number): RowPairs {
    const left = work.words(count)
    const right = work.words(count)
    const params = [count, Math.floor(first / rightRows), first % rightRows, rightRows]
    work.recorder.dispatch(this.#kernel, [left, right], params, count)
    return { left: { buffer: left, outer: false }, right: { buffer: right, outer: false } }
  }
}
