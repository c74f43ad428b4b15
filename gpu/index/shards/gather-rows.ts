import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { ShardPlaces } from './put-back.js'

/** Brings the rows of one shard together: payloads, and kinds of items (`gather-rows.wesl`). */
export class GatherRows {
  readonly #kernel: Kernel

  private constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  static async create(device: Device): Promise<GatherRows> {
    return new GatherRows(
      await device.kernel({
        module: 'index/shards/gather-rows',
        entryPoint: 'gather_rows',
        bindings: ['read', 'read', 'write'],
        params: 3,
      }),
    )
  }

  /** @returns a scratch buffer with the rows of `rowBytes` bytes that the shard's keys came with */
  record(
    recorder: Recorder,
    scratch: Scratch,
    rows: GPUBuffer,
    { positions, first, count }: ShardPlaces,
    rowBytes: number,
  ): GPUBuffer {
    const words = Math.ceil((count * rowBytes) / 4)
    // Kernels that read unaligned rows look at the word behind the last one.
    const gathered = scratch.words(words + 1)
    recorder.dispatch(this.#kernel, [rows, positions, gathered], [count, first, rowBytes], words)
    return gathered
  }
}
