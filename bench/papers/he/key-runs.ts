import type { Device, Kernels } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import type { KeyWords, Primitives } from '../../../gpu/primitives/primitives.js'
import type { SegmentStarts } from '../../../gpu/relational/segmented-reduce.js'
import { PAPER_KERNELS } from '../kernels.js'
import { columnConditions } from './columns.js'

/** Runs of equal neighbouring keys (`key-runs.wesl`): flags, and their compaction. */
export class KeyRuns {
  readonly #primitives: Primitives
  readonly #kernels: Kernels<'mark_starts'>

  constructor(device: Device, primitives: Primitives, keyWords: KeyWords) {
    const conditions = columnConditions({ keyWords, payloadWords: 0 })
    this.#primitives = primitives
    this.#kernels = device.kernels('he/key-runs', ['mark_starts'], conditions, PAPER_KERNELS)
  }

  /** @returns scratch buffers with the start of each run and, as the device's count, the number of runs */
  record(recorder: Recorder, scratch: Scratch, keys: GPUBuffer, count: number): Required<SegmentStarts> {
    const flags = scratch.words(count)
    const starts = scratch.words(count)
    const deviceCount = { buffer: scratch.words(1), index: 0 }
    recorder.dispatch(this.#kernels.mark_starts, { keys, flags }, { count }, count)
    this.#primitives.compact(recorder, scratch, flags, count, starts, deviceCount)
    return { starts, count, deviceCount }
  }
}
