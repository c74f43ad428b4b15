import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { KeyWords, Primitives } from '../../primitives/primitives.js'
import { columnConditions } from '../columns.js'
import type { Runs } from './index-join.js'
import { type KeyRange, type Roles, rangeParams } from './matches.js'

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
  readonly #findRanges: Kernel
  readonly #mergeChunks: Kernel

  private constructor(primitives: Primitives, findRanges: Kernel, mergeChunks: Kernel) {
    this.#primitives = primitives
    this.#findRanges = findRanges
    this.#mergeChunks = mergeChunks
  }

  static async create(device: Device, primitives: Primitives, keyWords: KeyWords): Promise<SortMerge> {
    const common = {
      module: 'relational/joins/sort-merge-join',
      params: 7,
      conditions: columnConditions({ keyWords, payloadWords: 0 }),
    }
    const [findRanges, mergeChunks] = await Promise.all([
      device.kernel({ ...common, entryPoint: 'find_ranges', bindings: ['read', 'read', 'write', 'write'] }),
      device.kernel({
        ...common,
        entryPoint: 'merge_chunks',
        bindings: ['read', 'read', 'read', 'read', 'write', 'write'],
      }),
    ])
    return new SortMerge(primitives, findRanges, mergeChunks)
  }

  /** Finds the runs that probes match. Both sides have keys; the build side is the one that is cut into chunks. */
  record(recorder: Recorder, scratch: Scratch, { probe, build }: Roles<SortedKeys>, range: KeyRange): Runs {
    const chunks = Math.ceil(build.count / CHUNK)
    const params = [probe.count, build.count, chunks, ...rangeParams(range)]
    const ranges = scratch.words(chunks + 1)
    const items = scratch.words(chunks)
    const itemsBefore = scratch.words(chunks + 1)
    const columns = [probe.keys, build.keys, ranges]
    recorder.dispatch(this.#findRanges, [...columns, items], params, chunks)
    const total = { buffer: itemsBefore, index: chunks }
    this.#primitives.scan(recorder, scratch, items, itemsBefore, chunks, total)
    const runs = { firsts: scratch.words(probe.count), counts: scratch.words(probe.count) }
    const buffers = [...columns, itemsBefore, runs.firsts, runs.counts]
    // Each chunk has at most one item that is not full.
    const mostItems = chunks + Math.floor(probe.count / ITEM_PROBES)
    recorder.dispatchGroups(this.#mergeChunks, buffers, params, mostItems)
    return runs
  }
}
