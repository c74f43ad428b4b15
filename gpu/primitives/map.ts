import type { Device } from '../device/device.js'
import type { Kernel } from '../device/kernel.js'
import type { Recorder } from '../device/recorder.js'

/** An affine function of u32 words, modulo 2^32. */
export interface AffineFunction {
  readonly multiplier: number
  readonly addend: number
}

/** Affine maps of columns (`map.wesl`). */
export class AffineMap {
  readonly #mapColumn: Kernel
  readonly #mapPositions: Kernel

  private constructor(mapColumn: Kernel, mapPositions: Kernel) {
    this.#mapColumn = mapColumn
    this.#mapPositions = mapPositions
  }

  static async create(device: Device): Promise<AffineMap> {
    const common = { module: 'primitives/map', entryPoint: 'map_affine', params: 3 }
    const [mapColumn, mapPositions] = await Promise.all([
      device.kernel({ ...common, bindings: ['read', 'write'] }),
      device.kernel({ ...common, firstBinding: 1, bindings: ['write'], conditions: { positions: true } }),
    ])
    return new AffineMap(mapColumn, mapPositions)
  }

  /** Maps a column, or the positions 0…count-1 where there is no input. */
  record(
    recorder: Recorder,
    input: GPUBuffer | undefined,
    output: GPUBuffer,
    count: number,
    { multiplier, addend }: AffineFunction,
  ): void {
    const params = [count, multiplier, addend]
    const quads = Math.ceil(count / 4)
    if (input === undefined) recorder.dispatch(this.#mapPositions, [output], params, quads)
    else recorder.dispatch(this.#mapColumn, [input, output], params, quads)
  }
}
