import type { Device } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Strategy } from '../../primitives/primitives.js'
import { isSearched, type JoinOptions } from './join-kernels.js'
import { PairCutter } from './pairs.js'
import { SearchCutter } from './search-cut.js'
import type { Tuples } from './tuples.js'

/** Elements of both relations, by words of a key, that are a tile otherwise; as in `join-ranges.wesl`. */
const CUT_TILE = { cooperative: { 1: 2048, 2: 1024 }, serial: { 1: 512, 2: 512 } }

/** What the kernels of a join are told of its tiles. */
export interface JoinTiles {
  readonly tiles: number
  /** Bindings from 4 on: lows and sizes of `search-cut.wesl`, or cuts, sizes and runs of `cut.wesl`. */
  readonly buffers: readonly GPUBuffer[]
}

/** Parts relations into tiles: for a search as many tuples of the first one each, else as many of both. */
export interface JoinTiler {
  record(recorder: Recorder, scratch: Scratch, first: Tuples, second: Tuples): JoinTiles
}

export async function joinTiler(
  device: Device,
  strategy: Strategy,
  options: JoinOptions,
): Promise<JoinTiler> {
  const { keyWords } = options.first
  const keys = { keyWords, payloadWords: 0 } as const
  if (isSearched(strategy, options)) {
    const cutter = await SearchCutter.create(device, keys, false)
    return {
      record: (recorder, scratch, first, second) => {
        const { tiles, lows, sizes } = cutter.record(recorder, scratch, first, second)
        return { tiles, buffers: [lows, sizes] }
      },
    }
  }
  const cutter = await PairCutter.create(device, keys, { byTuple: false, withRuns: true })
  const tileSize = CUT_TILE[strategy === 'serial' ? 'serial' : 'cooperative'][keyWords]
  return {
    record: (recorder, scratch, first, second) => {
      const { tiles, cuts, sizes, runs } = cutter.record(recorder, scratch, first, second, tileSize)
      return { tiles, buffers: [cuts, sizes, ...runs] }
    },
  }
}
