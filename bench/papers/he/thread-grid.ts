import type { Device, Kernels } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import { PAPER_KERNELS } from '../kernels.js'

/** Invocations that a workgroup of a thread grid may have; `thread-share.wesl` has the same numbers. */
export const GRID_INVOCATIONS = [32, 64, 128, 256, 512, 1024] as const
export type GridInvocations = (typeof GRID_INVOCATIONS)[number]

export interface GridShape {
  /** Of a workgroup; no more than the device allows. */
  readonly invocations: GridInvocations
  /** Whether neighbouring invocations touch neighbouring words; otherwise each has a run of words of its own. */
  readonly coalesced: boolean
}

/** Conditions of kernels of this shape (`thread-share.wesl`). */
export function gridConditions({ invocations, coalesced }: GridShape): Readonly<Record<string, boolean>> {
  return { coalesced, [`threads_${invocations}`]: true }
}

/**
 * Map, gather and scatter by a given number of workgroups, at most 65,535, however many words there are (He et al. §3.2.1;
 * `thread-grid.wesl`), to be measured against those with an invocation for few words (`primitives/map.wesl`, `move.wesl`).
 */
export class ThreadGrid {
  readonly #kernels: Kernels<'map_words' | 'gather_words' | 'scatter_words'>

  constructor(device: Device, shape: GridShape) {
    const entryPoints = ['map_words', 'gather_words', 'scatter_words'] as const
    this.#kernels = device.kernels('he/thread-grid', entryPoints, gridConditions(shape), PAPER_KERNELS)
  }

  /** output[i] = 3 · source[i] + 1 modulo 2^32 */
  recordMap(
    recorder: Recorder,
    groups: number,
    source: DeviceMemory,
    output: DeviceMemory,
    count: number,
  ): void {
    recorder.dispatchGroups(this.#kernels.map_words, { source, output }, { count }, groups)
  }

  /** output[i] = source[indices[i]] */
  recordGather(
    recorder: Recorder,
    groups: number,
    source: DeviceMemory,
    indices: DeviceMemory,
    output: DeviceMemory,
    count: number,
  ): void {
    recorder.dispatchGroups(this.#kernels.gather_words, { source, output, indices }, { count }, groups)
  }

  /** output[indices[i]] = source[i] */
  recordScatter(
    recorder: Recorder,
    groups: number,
    source: DeviceMemory,
    indices: DeviceMemory,
    output: DeviceMemory,
    count: number,
  ): void {
    recorder.dispatchGroups(this.#kernels.scatter_words, { source, output, indices }, { count }, groups)
  }
}
