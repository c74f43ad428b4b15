import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { DeviceMemory } from '../../memory/page-run.js'

/** Joins validities of columns that follow each other (`append-bits.wesl`). */
export class AppendBits {
  readonly #kernels: Kernels<'append_bits' | 'append_ones'>

  constructor(device: Device) {
    this.#kernels = device.kernels('relational/query/append-bits', ['append_bits', 'append_ones'])
  }

  /**
   * @param source undefined where all rows have a value
   * @param first the row of `output` that the source's first one becomes; rows before it are there already
   */
  record(
    recorder: Recorder,
    source: DeviceMemory | undefined,
    output: DeviceMemory,
    first: number,
    count: number,
  ): void {
    if (count === 0) return
    const words = Math.floor((first + count - 1) / 32) - Math.floor(first / 32) + 1
    const params = { first, count }
    if (source === undefined) recorder.dispatch(this.#kernels.append_ones, { output }, params, words)
    else recorder.dispatch(this.#kernels.append_bits, { source, output }, params, words)
  }
}
