import type { Device } from '../device/device.js'
import type { Kernel } from '../device/kernel.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import { columnConditions } from './columns.js'
import type { Compaction } from './compact.js'
import type { SegmentStarts } from './segmented-reduce.js'
import type { KeyWords } from './sort.js'

/** Runs of equal neighbouring keys (`key-runs.wesl`): flags, and their compaction. */
export class KeyRuns {
  readonly #compact: Compaction
  readonly #markStarts: Kernel

  private constructor(compact: Compaction, markStarts: Kernel) {
    this.#compact = compact
    this.#markStarts = markStarts
  }

  static async create(device: Device, keyWords: KeyWords, compact: Compaction): Promise<KeyRuns> {
    const markStarts = await device.kernel({
      module: 'primitives/key-runs',
      entryPoint: 'mark_starts',
      params: 1,
      bindings: ['read', 'write'],
      conditions: columnConditions({ keyWords, payloadWords: 0 }),
    })
    return new KeyRuns(compact, markStarts)
  }

  /** @returns scratch buffers with the start of each run and, as the device's count, the number of runs */
  record(recorder: Recorder, scratch: Scratch, keys: GPUBuffer, count: number): Required<SegmentStarts> {
    const flags = scratch.words(count)
    const starts = scratch.words(count)
    const deviceCount = { buffer: scratch.words(1), index: 0 }
    recorder.dispatch(this.#markStarts, [keys, flags], [count], count)
    this.#compact.record(recorder, scratch, flags, count, starts, deviceCount)
    return { starts, count, deviceCount }
  }
}
