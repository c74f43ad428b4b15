import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Tuples } from './tuples.js'

/** Streams pairs of ranges through workgroup memory without joining them (Diamos §5.1; `block-streaming.wesl`), to be measured. */
export class BlockStreaming {
  readonly #kernel: Kernel

  private constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  static async create(device: Device): Promise<BlockStreaming> {
    const kernel = await device.kernel({
      module: 'relational/algebra/block-streaming',
      entryPoint: 'stream_blocks',
      params: 1,
      bindings: ['read', 'read', 'read', 'write'],
    })
    return new BlockStreaming(kernel)
  }

  /**
   * Over relations of one-word keys.
   * @param pairs as `RecursivePartition` makes them
   * @param results gets two words a pair: keys of blocks that met none of the other side, and the sum of all keys read
   */
  record(
    recorder: Recorder,
    first: Tuples,
    second: Tuples,
    pairs: GPUBuffer,
    count: number,
    results: GPUBuffer,
  ): void {
    recorder.dispatchGroups(
      this.#kernel,
      [first.columns.keys, second.columns.keys, pairs, results],
      [count],
      count,
    )
  }
}
