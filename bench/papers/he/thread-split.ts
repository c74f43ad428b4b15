import type { Device, Kernels } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import type { Primitives } from '../../../gpu/primitives/primitives.js'
import { PAPER_KERNELS } from '../kernels.js'
import { type GridInvocations, type GridShape, gridConditions } from './thread-grid.js'

/** Parts, by the lowest bits of keys; `thread-split.wesl` has the same number. */
export const THREAD_SPLIT_PARTS = 16

export interface ThreadSplitShape extends GridShape {
  /** Whether the counters of threads are in workgroup memory while they are used. */
  readonly workgroupMemory: boolean
}

/** Whether the counters of a workgroup's threads fit its memory on a device. */
export function countersFit(device: Device, invocations: GridInvocations): boolean {
  return THREAD_SPLIT_PARTS * invocations * 4 <= device.gpu.limits.maxComputeWorkgroupStorageSize
}

/**
 * Split with counters for every thread (He et al. §3.1.4, Algorithm 1; `thread-split.wesl`), to be measured against the one with
 * counters for every tile (`split.ts`).
 */
export class ThreadSplit {
  readonly #primitives: Primitives
  readonly #shape: ThreadSplitShape
  readonly #kernels: Kernels<'count_parts' | 'scatter_parts'>

  /** @param shape whose counters fit, if they are to be in workgroup memory */
  constructor(device: Device, primitives: Primitives, shape: ThreadSplitShape) {
    const conditions = { ...gridConditions(shape), workgroup_memory: shape.workgroupMemory }
    const entryPoints = ['count_parts', 'scatter_parts'] as const
    this.#primitives = primitives
    this.#shape = shape
    this.#kernels = device.kernels('he/thread-split', entryPoints, conditions, PAPER_KERNELS)
  }

  /** Moves keys of part 0 to the front of `output`, behind them those of part 1, and so on, by at most 65,535 workgroups. */
  record(
    recorder: Recorder,
    scratch: Scratch,
    groups: number,
    keys: DeviceMemory,
    output: DeviceMemory,
    count: number,
  ): void {
    const cells = THREAD_SPLIT_PARTS * groups * this.#shape.invocations
    const places = scratch.words(cells)
    recorder.dispatchGroups(this.#kernels.count_parts, { keys, places }, { count }, groups)
    this.#primitives.scan(recorder, scratch, places, places, cells)
    recorder.dispatchGroups(this.#kernels.scatter_parts, { keys, output, places }, { count }, groups)
  }
}
