import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'

/** Rows `first` to before `first + count`. */
export interface RowRange {
  readonly first: number
  readonly count: number
}

/** Gives the strings of a column other numbers (`recode.wesl`). */
export class Recode {
  readonly #kernels: Kernels<'recode'>

  constructor(device: Device) {
    this.#kernels = device.kernels('relational/stored/recode', ['recode'])
  }

  /** @param numbers the new number of each old one */
  record(
    recorder: Recorder,
    values: GPUBuffer,
    validity: GPUBuffer | undefined,
    numbers: GPUBuffer,
    { first, count }: RowRange,
  ): void {
    const params = { first, count, hasValidity: validity === undefined ? 0 : 1 }
    recorder.dispatch(this.#kernels.recode, { values, numbers, validity: validity ?? numbers }, params, count)
  }
}
