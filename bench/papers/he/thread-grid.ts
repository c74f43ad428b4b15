import type { Device } from '../../../gpu/device/device.js'
import type { Kernel } from '../../../gpu/device/kernel.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
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
  readonly #map: Kernel
  readonly #gather: Kernel
  readonly #scatter: Kernel

  private constructor(map: Kernel, gather: Kernel, scatter: Kernel) {
    this.#map = map
    this.#gather = gather
    this.#scatter = scatter
  }

  static async create(device: Device, shape: GridShape): Promise<ThreadGrid> {
    const common = {
      folder: PAPER_KERNELS,
      module: 'he/thread-grid',
      params: 1,
      conditions: gridConditions(shape),
    }
    const bindings = ['read', 'write', 'read'] as const
    const [map, gather, scatter] = await Promise.all([
      device.kernel({ ...common, entryPoint: 'map_words', bindings: ['read', 'write'] }),
      device.kernel({ ...common, entryPoint: 'gather_words', bindings }),
      device.kernel({ ...common, entryPoint: 'scatter_words', bindings }),
    ])
    return new ThreadGrid(map, gather, scatter)
  }

  /** output[i] = 3 · source[i] + 1 modulo 2^32 */
  recordMap(recorder: Recorder, groups: number, source: GPUBuffer, output: GPUBuffer, count: number): void {
    recorder.dispatchGroups(this.#map, [source, output], [count], groups)
  }

  /** output[i] = source[indices[i]] */
  recordGather(
    recorder: Recorder,
    groups: number,
    source: GPUBuffer,
    indices: GPUBuffer,
    output: GPUBuffer,
    count: number,
  ): void {
    recorder.dispatchGroups(this.#gather, [source, output, indices], [count], groups)
  }

  /** output[indices[i]] = source[i] */
  recordScatter(
    recorder: Recorder,
    groups: number,
    source: GPUBuffer,
    indices: GPUBuffer,
    output: GPUBuffer,
    count: number,
  ): void {
    recorder.dispatchGroups(this.#scatter, [source, output, indices], [count], groups)
  }
}
