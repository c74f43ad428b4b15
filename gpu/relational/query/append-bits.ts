import type { Device, Kernels } from '../../device/device.js'
import type { DeviceWork } from './device-work.js'

/** Joins validities of columns that follow each other (`append-bits.wesl`). */
export class AppendBits {
  readonly #kernels: Kernels<'append_bits'>

  constructor(device: Device) {
    this.#kernels = device.kernels('relational/query/append-bits', ['append_bits'])
  }

  /** @param first the row of `output` that the source's first one becomes; rows before it are there already */
  record(
    work: DeviceWork,
    source: GPUBuffer | undefined,
    output: GPUBuffer,
    first: number,
    count: number,
  ): void {
    if (count === 0) return
    const words = Math.floor((first + count - 1) / 32) - Math.floor(first / 32) + 1
    const params = { first, count, hasSource: source === undefined ? 0 : 1 }
    work.recorder.dispatch(
      this.#kernels.append_bits,
      { source: source ?? work.absent, output },
      params,
      words,
    )
  }
}
