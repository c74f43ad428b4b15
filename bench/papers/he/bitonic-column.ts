import type { Device, Kernels } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import { PAPER_KERNELS } from '../kernels.js'

/** Places that a workgroup sorts in its memory; as in `bitonic-column.wesl`. */
const CHUNK = 1024

/** Where steps within a chunk are done: each by a dispatch in global memory, or all together in workgroup memory (He et al. §3.2.2). */
export type BitonicMemory = 'storage' | 'workgroup'

/** u32 keys with a payload of a word each. */
export interface BitonicColumns {
  readonly keys: DeviceMemory
  readonly payloads: DeviceMemory
}

/** Bitonic sort of a whole column (`bitonic-column.wesl`), to be measured against quicksort and radix sort. */
export class BitonicColumnSort {
  readonly #memory: BitonicMemory
  readonly #kernels: Kernels<'compare_places' | 'sort_chunks' | 'merge_chunks'>

  constructor(device: Device, memory: BitonicMemory) {
    const entryPoints = ['compare_places', 'sort_chunks', 'merge_chunks'] as const
    this.#memory = memory
    this.#kernels = device.kernels('he/bitonic-column', entryPoints, {}, PAPER_KERNELS)
  }

  /** Sorts columns of `count` elements by key where they lie; equal keys come in any order. */
  record(recorder: Recorder, columns: BitonicColumns, count: number): void {
    const { compare_places, sort_chunks, merge_chunks } = this.#kernels
    const inMemory = this.#memory === 'workgroup'
    const chunks = Math.ceil(count / CHUNK)
    const size = 2 ** Math.ceil(Math.log2(Math.max(1, count)))
    const params = { count, span: 0, mirrored: 0 }
    if (inMemory) recorder.dispatchGroups(sort_chunks, { ...columns }, params, chunks)
    for (let stage = inMemory ? 2 * CHUNK : 2; stage <= size; stage *= 2) {
      for (let span = stage; span > (inMemory ? CHUNK : 1); span /= 2) {
        const step = { count, span, mirrored: span === stage ? 1 : 0 }
        recorder.dispatch(compare_places, { ...columns }, step, size / 2)
      }
      if (inMemory) recorder.dispatchGroups(merge_chunks, { ...columns }, params, chunks)
    }
  }
}
