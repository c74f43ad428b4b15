import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'

/** Rows `first` to before `first + count`. */
export interface RowRange {
  readonly first: number
  readonly count: number
}

/** Gives the strings of a column other numbers (`recode.wesl`). */
export class Recode {
  readonly #recode: Kernel

  private constructor(recode: Kernel) {
    this.#recode = recode
  }

  static async create(device: Device): Promise<Recode> {
    const bindings = ['write', 'read', 'read'] as const
    return new Recode(
      await device.kernel({ module: 'relational/stored/recode', entryPoint: 'recode', bindings, params: 3 }),
    )
  }

  /** @param numbers the new number of each old one */
  record(
    recorder: Recorder,
    values: GPUBuffer,
    validity: GPUBuffer | undefined,
    numbers: GPUBuffer,
    { first, count }: RowRange,
  ): void {
    const params = [first, count, validity === undefined ? 0 : 1]
    recorder.dispatch(this.#recode, [values, numbers, validity ?? numbers], params, count)
  }
}
