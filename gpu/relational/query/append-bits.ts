import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { DeviceWork } from './device-work.js'

/** As in `append-bits.wesl`. */
const HAS_VALIDITY = 1

/** Joins validities of columns that follow each other (`append-bits.wesl`). */
export class AppendBits {
  readonly #kernel: Kernel

  private constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  static async create(device: Device): Promise<AppendBits> {
    const kernel = await device.kernel({
      module: 'relational/query/append-bits',
      entryPoint: 'append_bits',
      bindings: ['read', 'write'],
      params: 3,
    })
    return new AppendBits(kernel)
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
    const params = [first, count, source === undefined ? 0 : HAS_VALIDITY]
    work.recorder.dispatch(this.#kernel, [source ?? work.absent, output], params, words)
  }
}
