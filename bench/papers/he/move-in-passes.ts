import type { Device, Kernels } from '../../../gpu/device/device.js'
import type { Kernel } from '../../../gpu/device/kernel.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import { PAPER_KERNELS } from '../kernels.js'

/** A move of `count` elements of `words` u32 words each. */
export interface PassedMove {
  readonly source: DeviceMemory
  readonly indices: DeviceMemory
  readonly output: DeviceMemory
  readonly count: number
  readonly words: number
  /** Indices are below this: the elements of the source of a gather, or of the output of a scatter. */
  readonly range: number
  readonly passes: number
}

/** Gather and scatter in passes (`move-in-passes.wesl`), to be measured against those in one pass (`primitives/move.wesl`). */
export class MovementInPasses {
  readonly #kernels: Kernels<'gather_window' | 'scatter_window'>

  constructor(device: Device) {
    const entryPoints = ['gather_window', 'scatter_window'] as const
    this.#kernels = device.kernels('he/move-in-passes', entryPoints, {}, PAPER_KERNELS)
  }

  /** output[i] = source[indices[i]] */
  recordGather(recorder: Recorder, move: PassedMove): void {
    recordPasses(recorder, this.#kernels.gather_window, move)
  }

  /** output[indices[i]] = source[i] */
  recordScatter(recorder: Recorder, move: PassedMove): void {
    recordPasses(recorder, this.#kernels.scatter_window, move)
  }
}

function recordPasses(recorder: Recorder, kernel: Kernel, move: PassedMove): void {
  const { source, indices, output, count, words, range, passes } = move
  const size = Math.ceil(range / passes)
  for (let first = 0; first < range; first += size) {
    recorder.dispatch(kernel, { source, indices, output }, { count, words, first, size }, count * words)
  }
}
