import type { Device, Kernels } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { Conditions } from '../device/shaders.js'

/** A kernel of sorts twice: one takes a column of values, the other makes the positions of the keys its values. */
export class ValueKernel<Name extends string> {
  readonly #name: Name
  readonly #given: Kernels<Name>
  readonly #positions: Kernels<Name>

  constructor(device: Device, module: string, name: Name, conditions: Conditions) {
    this.#name = name
    this.#given = device.kernels(module, [name], conditions)
    this.#positions = device.kernels(module, [name], { ...conditions, positions: true })
  }

  /** Dispatches the one that suits. */
  dispatch(
    recorder: Recorder,
    values: GPUBuffer | undefined,
    buffers: Readonly<Record<string, GPUBuffer>>,
    params: Readonly<Record<string, number>>,
    groups: number,
  ): void {
    const kernels = values === undefined ? this.#positions : this.#given
    recorder.dispatchGroups(kernels[this.#name], { ...buffers, values }, params, groups)
  }
}
