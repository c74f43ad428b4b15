import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { KeyWords } from '../../primitives/primitives.js'
import type { JoinSide } from './join-types.js'
import { type KeyRange, type Roles, type Runs, rangeParams } from './matches.js'

/** Probes of a block and build keys of a tile; as in `nested-loop-join.wesl`. */
export const PROBE_BLOCK = 2048
const TILE = 1024

/** Workgroups that keep every core of a large GPU busy. */
const ENOUGH_GROUPS = 2048

/** The blocked nested-loop join (`nested-loop-join.wesl`). */
export class NestedLoopJoin {
  readonly #equal: Kernels<'count_matches'>
  readonly #band: Kernels<'count_matches'>

  constructor(device: Device, keyWords: KeyWords) {
    const kernels = (band: boolean) => {
      const conditions = { wide: keyWords === 2, band }
      return device.kernels('relational/joins/nested-loop-join', ['count_matches'], conditions)
    }
    this.#equal = kernels(false)
    this.#band = kernels(true)
  }

  /**
   * Compares every probe with every build key, and counts the matches of each. Both sides have keys. Where a probe has several matches
   * these do not lie side by side, and so are no run.
   */
  record(recorder: Recorder, scratch: Scratch, { probe, build }: Roles<JoinSide>, range: KeyRange): Runs {
    const kernels = range.below + range.above > 0n ? this.#band : this.#equal
    const blocks = Math.ceil(probe.count / PROBE_BLOCK)
    const tiles = Math.ceil(build.count / TILE)
    const segment = TILE * Math.ceil(tiles / Math.min(tiles, Math.ceil(ENOUGH_GROUPS / blocks)))
    const segments = Math.ceil(build.count / segment)
    const runs = { firsts: scratch.words(probe.count), counts: scratch.words(probe.count) }
    recorder.clear(runs.counts, 0, 4 * probe.count)
    const buffers = { probeKeys: probe.keys, buildKeys: build.keys, ...runs }
    const sizes = { probes: probe.count, count: build.count, blocks, segment, segments }
    const params = { ...sizes, ...rangeParams(range) }
    const options = { weight: segment / TILE }
    recorder.dispatchGroups(kernels.count_matches, buffers, params, blocks * segments, options)
    return runs
  }
}
