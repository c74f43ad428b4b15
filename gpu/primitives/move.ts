import type { Device, Kernels } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { DeviceWord } from './device-count.js'

/** Gather and scatter (`move.wesl`). */
export class Movement {
  readonly #kernels: Kernels<'gather' | 'scatter'>
  readonly #unbounded: DeviceWord

  constructor(device: Device, unbounded: DeviceWord) {
    this.#kernels = device.kernels('primitives/move', ['gather', 'scatter'])
    this.#unbounded = unbounded
  }

  record(
    direction: 'gather' | 'scatter',
    recorder: Recorder,
    source: GPUBuffer,
    indices: GPUBuffer,
    output: GPUBuffer,
    count: number,
    words: number,
    live: DeviceWord = this.#unbounded,
  ): void {
    const buffers = { source, indices, live: live.buffer, output }
    const params = { count, liveIndex: live.index, words }
    recorder.dispatch(this.#kernels[direction], buffers, params, count * words)
  }
}
