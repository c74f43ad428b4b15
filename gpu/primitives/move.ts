import type { Device } from '../device/device.js'
import type { Kernel } from '../device/kernel.js'
import type { Recorder } from '../device/recorder.js'
import { type DeviceWord, unboundedCount } from './device-count.js'

/** Gather and scatter (`move.wesl`). */
export class Movement {
  readonly #gather: Kernel
  readonly #scatter: Kernel
  readonly #unbounded: DeviceWord

  private constructor(gather: Kernel, scatter: Kernel, unbounded: DeviceWord) {
    this.#gather = gather
    this.#scatter = scatter
    this.#unbounded = unbounded
  }

  static async create(device: Device): Promise<Movement> {
    const bindings = ['read', 'read', 'read', 'write'] as const
    const common = { module: 'primitives/move', params: 3, bindings }
    const [gather, scatter, unbounded] = await Promise.all([
      device.kernel({ ...common, entryPoint: 'gather' }),
      device.kernel({ ...common, entryPoint: 'scatter' }),
      unboundedCount(device),
    ])
    return new Movement(gather, scatter, unbounded)
  }

  recordGather(
    recorder: Recorder,
    source: GPUBuffer,
    indices: GPUBuffer,
    output: GPUBuffer,
    count: number,
    words: number,
    live: DeviceWord = this.#unbounded,
  ): void {
    const buffers = [source, indices, live.buffer, output]
    recorder.dispatch(this.#gather, buffers, [count, live.index, words], count * words)
  }

  recordScatter(
    recorder: Recorder,
    source: GPUBuffer,
    indices: GPUBuffer,
    output: GPUBuffer,
    count: number,
    words: number,
    live: DeviceWord = this.#unbounded,
  ): void {
    const buffers = [source, indices, live.buffer, output]
    recorder.dispatch(this.#scatter, buffers, [count, live.index, words], count * words)
  }
}
