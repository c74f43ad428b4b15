import type { Device } from '../../../gpu/device/device.js'
import type { Kernel } from '../../../gpu/device/kernel.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import type { KeyWords, Primitives } from '../../../gpu/primitives/primitives.js'
import { columnConditions } from '../../../gpu/relational/columns.js'
import type { SegmentStarts } from '../../../gpu/relational/segmented-reduce.js'
import { PAPER_KERNELS } from '../kernels.js'

/** Runs of equal neighbouring keys (`key-runs.wesl`): flags, and their compaction. */
export class KeyRuns {
  readonly #primitives: Primitives
  readonly #markStarts: Kernel

  private constructor(primitives: Primitives, markStarts: Kernel) {
    this.#primitives = primitives
    this.#markStarts = markStarts
  }

  static async create(device: Device, primitives: Primitives, keyWords: KeyWords): Promise<KeyRuns> {
    const markStarts = await device.kernel({
      folder: PAPER_KERNELS,
      module: 'he/key-runs',
      entryPoint: 'mark_starts',
      params: 1,
      bindings: ['read', 'write'],
      conditions: columnConditions({ keyWords, payloadWords: 0 }),
    })
    return new KeyRuns(primitives, markStarts)
  }

  /** @returns scratch buffers with the start of each run and, as the device's count, the number of runs */
  record(recorder: Recorder, scratch: Scratch, keys: GPUBuffer, count: number): Required<SegmentStarts> {
    const flags = scratch.words(count)
    const starts = scratch.words(count)
    const deviceCount = { buffer: scratch.words(1), index: 0 }
    recorder.dispatch(this.#markStarts, [keys, flags], [count], count)
    this.#primitives.compact(recorder, scratch, flags, count, starts, deviceCount)
    return { starts, count, deviceCount }
  }
}
