import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { KeyWords, Primitives } from '../../primitives/primitives.js'
import { type KeyRange, type Roles, type Runs, rangeParams } from './matches.js'

/** Keys of a chunk and most probes of an item; as in `sort-merge-join.wesl`. */
const CHUNK = 2048
const ITEM_PROBES = 4096

/** Keys in ascending order. */
export interface SortedKeys {
  readonly keys: GPUBuffer
  readonly count: number
}

/** The merge step of a sort-merge join (`sort-merge-join.wesl`). */
export class SortMerge {
  readonly #primitives: Primitives
  readonly #kernels: Kernels<'find_ranges' | 'merge_chunks'>

  constructor(device: Device, primitives: Primitives, keyWords: KeyWords) {
    const entryPoints = ['find_ranges', 'merge_chunks'] as const
    this.#primitives = primitives
    this.#kernels = device.kernels('relational/joins/sort-merge-join', entryPoints, { wide: keyWords === 2 })
  }

  /** Finds the runs that probes match. Both sides have keys; the build side is the one that is cut into chunks. */
  record(recorder: Recorder, scratch: Scratch, { probe, build }: Roles<SortedKeys>, range: KeyRange): Runs {
    const chunks = Math.ceil(build.count / CHUNK)
    const ranges = scratch.words(chunks + 1)
    const items = scratch.words(chunks)
    const itemsBefore = scratch.words(chunks + 1)
    const runs = { firsts: scratch.words(probe.count), counts: scratch.words(probe.count) }
    const keys = { probeKeys: probe.keys, sortedKeys: build.keys }
    const buffers = { ...keys, ranges, knownRanges: ranges, items, itemsBefore, ...runs }
    const params = { probes: probe.count, count: build.count, chunks, ...rangeParams(range) }
    recorder.dispatch(this.#kernels.find_ranges, buffers, params, chunks)
    const total = { buffer: itemsBefore, index: chunks }
    this.#primitives.scan(recorder, scratch, items, itemsBefore, chunks, total)
    // Each chunk has at most one item that is not full.
    const mostItems = chunks + Math.floor(probe.count / ITEM_PROBES)
    recorder.dispatchGroups(this.#kernels.merge_chunks, buffers, params, mostItems)
    return runs
  }
}
