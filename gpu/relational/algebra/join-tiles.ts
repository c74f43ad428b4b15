import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import { unboundedCount } from '../../primitives/device-count.js'
import type { DeviceWord, Strategy } from '../../primitives/primitives.js'
import { isSearched, type JoinOptions } from './join-kernels.js'
import { PairCutter } from './pairs.js'
import type { Tuples } from './tuples.js'

/** Tuples of the first relation that are a tile of a search; as in `join-list.wesl`. */
export const SEARCHED_TILE = 2048
/** Elements of both relations, by words of a key, that are a tile otherwise; as in `join-ranges.wesl`. */
const CUT_TILE = { cooperative: { 1: 2048, 2: 1024 }, serial: { 1: 512, 2: 512 } }

/** What the kernels of a join are told of its tiles. */
export interface JoinTiles {
  readonly tiles: number
  /** Bindings from 4 on: lows and sizes of `join-cut.wesl`, or cuts, sizes and runs of `cut.wesl`. */
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
  if (isSearched(strategy, options)) return SearchTiler.create(device, keyWords)
  const cutter = await PairCutter.create(
    device,
    { keyWords, payloadWords: 0 },
    { byTuple: false, withRuns: true },
  )
  const tileSize = CUT_TILE[strategy === 'serial' ? 'serial' : 'cooperative'][keyWords]
  return {
    record: (recorder, scratch, first, second) => {
      const { tiles, cuts, sizes, runs } = cutter.record(recorder, scratch, first, second, tileSize)
      return { tiles, buffers: [cuts, sizes, ...runs] }
    },
  }
}

/** Tiles whose places one workgroup of `join-cut.wesl` looks for. */
const TILES_OF_GROUP = 8

class SearchTiler implements JoinTiler {
  readonly #kernel: Kernel
  readonly #unbounded: DeviceWord

  private constructor(kernel: Kernel, unbounded: DeviceWord) {
    this.#kernel = kernel
    this.#unbounded = unbounded
  }

  static async create(device: Device, keyWords: 1 | 2): Promise<SearchTiler> {
    const [kernel, unbounded] = await Promise.all([
      device.kernel({
        module: 'relational/algebra/join-cut',
        entryPoint: 'cut_for_search',
        params: 5,
        conditions: { wide: keyWords === 2, pair: keyWords === 2 },
        bindings: ['read', 'read'],
        further: [
          [4, 'read'],
          [5, 'read'],
          [6, 'write'],
          [7, 'write'],
        ],
      }),
      unboundedCount(device),
    ])
    return new SearchTiler(kernel, unbounded)
  }

  record(recorder: Recorder, scratch: Scratch, first: Tuples, second: Tuples): JoinTiles {
    const tiles = Math.ceil(first.rows / SEARCHED_TILE)
    const [lows, sizes] = [scratch.words(tiles + 1), scratch.words(2)]
    const { count: firstLive = this.#unbounded } = first
    const { count: secondLive = this.#unbounded } = second
    recorder.dispatchGroups(
      this.#kernel,
      [first.columns.keys, second.columns.keys, firstLive.buffer, secondLive.buffer, lows, sizes],
      [first.rows, second.rows, firstLive.index, secondLive.index, tiles],
      Math.ceil((tiles + 1) / TILES_OF_GROUP),
    )
    return { tiles, buffers: [lows, sizes] }
  }
}
