import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { KeyWords } from '../../primitives/primitives.js'
import { type KeyRange, type Roles, type Runs, rangeParams } from './matches.js'
import type { SortedKeys } from './sort-merge-join.js'

/** Keys of a bucket on average, at least, as a power of two: a search of so few takes three steps, in one or two sectors of memory. */
export const BUCKET_KEYS_BITS = 3

/** Finds the runs that probes match by a table of buckets (`index-join.wesl`). */
export class IndexJoin {
  readonly #kernels: Kernels<'find_buckets' | 'find_runs'>

  constructor(device: Device, keyWords: KeyWords) {
    const entryPoints = ['find_buckets', 'find_runs'] as const
    this.#kernels = device.kernels('relational/joins/index-join', entryPoints, { wide: keyWords === 2 })
  }

  /** Both sides have keys; those to build on are in order. */
  record(recorder: Recorder, scratch: Scratch, { probe, build }: Roles<SortedKeys>, range: KeyRange): Runs {
    const { count } = build
    // More buckets than probes would take longer to fill than to do without.
    const bits = Math.max(0, Math.floor(Math.log2(Math.min(count >> BUCKET_KEYS_BITS, probe.count))))
    const places = 2 ** bits + 1
    const buckets = scratch.words(places)
    const runs = { firsts: scratch.words(probe.count), counts: scratch.words(probe.count) }
    const buffers = { sortedKeys: build.keys, newBuckets: buckets, buckets, probeKeys: probe.keys, ...runs }
    const params = { probes: probe.count, count, bits, ...rangeParams(range) }
    recorder.dispatch(this.#kernels.find_buckets, buffers, params, places)
    recorder.dispatch(this.#kernels.find_runs, buffers, params, probe.count)
    return runs
  }
}
