import type { Device, Kernels } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import { PAPER_KERNELS } from '../kernels.js'
import type { SortedKeys } from './cut.js'

/** Streams pairs of ranges through workgroup memory without joining them (Diamos §5.1; `block-streaming.wesl`). */
export class BlockStreaming {
  readonly #kernels: Kernels<'stream_blocks'>

  constructor(device: Device) {
    this.#kernels = device.kernels('diamos/block-streaming', ['stream_blocks'], {}, PAPER_KERNELS)
  }

  /**
   * @param pairs as `RecursivePartition` makes them
   * @param results gets two words a pair: keys of blocks that met none of the other side, and the sum of all keys read
   */
  record(
    recorder: Recorder,
    first: SortedKeys,
    second: SortedKeys,
    pairs: DeviceMemory,
    count: number,
    results: DeviceMemory,
  ): void {
    const buffers = { firstKeys: first.keys, secondKeys: second.keys, pairs, results }
    recorder.dispatchGroups(this.#kernels.stream_blocks, buffers, { pairs: count }, count)
  }
}
