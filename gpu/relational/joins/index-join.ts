import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { KeyWords } from '../../primitives/primitives.js'
import { columnConditions } from '../columns.js'
import { type IndexColumns, planLevels } from './join-index.js'
import { type KeyRange, rangeParams } from './matches.js'

/**
 * How a run is searched for: from the table of buckets, and down the directory only where a bucket has many keys; always down the
 * directory, with a binary search in each node or through each node key by key (He Figure 11); or by a binary search of the whole
 * sorted column.
 */
export type IndexSearch = 'buckets' | 'binary' | 'sequential' | 'array'

/** Of each probe: where its matches begin, and how many they are. */
export interface Runs {
  readonly firsts: GPUBuffer
  readonly counts: GPUBuffer
}

/** Finds the runs that probes match in an index (`index-join.wesl`). */
export class IndexProbe {
  readonly #search: IndexSearch
  readonly #findRuns: Kernel

  private constructor(search: IndexSearch, findRuns: Kernel) {
    this.#search = search
    this.#findRuns = findRuns
  }

  static async create(device: Device, keyWords: KeyWords, search: IndexSearch): Promise<IndexProbe> {
    const findRuns = await device.kernel({
      module: 'relational/joins/index-join',
      entryPoint: 'find_runs',
      bindings: [],
      further: [
        [0, 'read'],
        [1, 'read'],
        ...(search === 'array' ? [] : ([[2, 'read']] as const)),
        [3, 'write'],
        [4, 'write'],
        ...(search === 'buckets' ? ([[5, 'read']] as const) : []),
      ],
      params: 8,
      conditions: {
        ...columnConditions({ keyWords, payloadWords: 0 }),
        sequential: search === 'sequential',
        whole_array: search === 'array',
        bucketed: search === 'buckets',
      },
    })
    return new IndexProbe(search, findRuns)
  }

  /** The index has keys. */
  record(
    recorder: Recorder,
    scratch: Scratch,
    probe: { readonly keys: GPUBuffer; readonly count: number },
    index: IndexColumns,
    range: KeyRange,
  ): Runs {
    const runs = { firsts: scratch.words(probe.count), counts: scratch.words(probe.count) }
    const directory = this.#search === 'array' ? [] : [index.directory]
    const buckets = this.#search === 'buckets' ? [index.buckets] : []
    const buffers = [probe.keys, index.keys, ...directory, runs.firsts, runs.counts, ...buckets]
    const levels = planLevels(index.keyWords, index.count).length
    const params = [probe.count, index.count, levels, ...rangeParams(range), index.bucketBits]
    recorder.dispatch(this.#findRuns, buffers, params, probe.count)
    return runs
  }
}
