import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import type { ShardPlaces } from './shards.js'

/** Brings the rows of one shard together: payloads, and kinds of items (`gather-rows.wesl`). */
export class GatherRows {
  readonly #kernels: Kernels<'gather_rows'>

  constructor(device: Device) {
    this.#kernels = device.kernels('index/shards/gather-rows', ['gather_rows'])
  }

  /** @returns a scratch buffer with the rows of `rowBytes` bytes that the shard's keys came with */
  record(
    recorder: Recorder,
    scratch: Scratch,
    rows: DeviceMemory,
    { positions, first, count }: ShardPlaces,
    rowBytes: number,
  ): DeviceMemory {
    const words = Math.ceil((count * rowBytes) / 4)
    // Kernels that read unaligned rows look at the word behind the last one.
    const gathered = scratch.words(words + 1)
    recorder.dispatch(
      this.#kernels.gather_rows,
      { rows, positions, gathered },
      { count, first, rowBytes },
      words,
    )
    return gathered
  }
}
