import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { DeviceMemory } from '../../memory/page-run.js'

/** Rows `first` to before `first + count`. */
export interface RowRange {
  readonly first: number
  readonly count: number
}

/** Gives the strings of a column other numbers (`recode.wesl`). */
export class Recode {
  readonly #plain: Kernels<'recode'>
  readonly #nullable: Kernels<'recode'>

  constructor(device: Device) {
    this.#plain = device.kernels('relational/stored/recode', ['recode'])
    this.#nullable = device.kernels('relational/stored/recode', ['recode'], { nullable: true })
  }

  /** @param numbers the new number of each old one */
  record(
    recorder: Recorder,
    values: DeviceMemory,
    validity: DeviceMemory | undefined,
    numbers: DeviceMemory,
    { first, count }: RowRange,
  ): void {
    const { recode } = validity === undefined ? this.#plain : this.#nullable
    recorder.dispatch(recode, { values, numbers, validity }, { first, count }, count)
  }
}
