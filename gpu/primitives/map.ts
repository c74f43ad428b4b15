import type { Device, Kernels } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'

/** An affine function of u32 words, modulo 2^32. */
export interface AffineFunction {
  readonly multiplier: number
  readonly addend: number
}

/** Affine maps of columns (`map.wesl`). */
export class AffineMap {
  readonly #column: Kernels<'map_affine'>
  readonly #positions: Kernels<'map_affine'>

  constructor(device: Device) {
    this.#column = device.kernels('primitives/map', ['map_affine'])
    this.#positions = device.kernels('primitives/map', ['map_affine'], { positions: true })
  }

  /** Maps a column, or the positions 0…count-1 where there is no input. */
  record(
    recorder: Recorder,
    input: GPUBuffer | undefined,
    output: GPUBuffer,
    count: number,
    { multiplier, addend }: AffineFunction,
  ): void {
    const { map_affine: map } = input === undefined ? this.#positions : this.#column
    recorder.dispatch(map, { input, output }, { count, multiplier, addend }, Math.ceil(count / 4))
  }
}
