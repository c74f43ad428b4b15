import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import type { KeyWords } from '../../primitives/primitives.js'
import { type KeyRange, type Roles, type Runs, rangeParams } from './matches.js'

/** Probes and build keys of a tile together; as in `sort-merge-join.wesl`. */
const TILE = 2048

/** Keys in ascending order. */
export interface SortedKeys {
  readonly keys: DeviceMemory
  readonly count: number
}

/** The merge step of a sort-merge join (`sort-merge-join.wesl`). */
export class SortMerge {
  readonly #kernels: Kernels<'find_tiles' | 'merge_tiles'>

  constructor(device: Device, keyWords: KeyWords) {
    const entryPoints = ['find_tiles', 'merge_tiles'] as const
    this.#kernels = device.kernels('relational/joins/sort-merge-join', entryPoints, { wide: keyWords === 2 })
  }

  /** Finds the runs that probes match. Both sides have keys. */
  record(recorder: Recorder, scratch: Scratch, { probe, build }: Roles<SortedKeys>, range: KeyRange): Runs {
    const tiles = Math.ceil((probe.count + build.count) / TILE)
    const firstProbes = scratch.words(tiles + 1)
    const runs = { firsts: scratch.words(probe.count), counts: scratch.words(probe.count) }
    const keys = { probeKeys: probe.keys, sortedKeys: build.keys }
    const buffers = { ...keys, tiles: firstProbes, knownTiles: firstProbes, ...runs }
    const params = { probes: probe.count, count: build.count, tiles, ...rangeParams(range) }
    recorder.dispatch(this.#kernels.find_tiles, buffers, params, tiles + 1)
    recorder.dispatchGroups(this.#kernels.merge_tiles, buffers, params, tiles)
    return runs
  }
}
