import type { Device } from '../../device/device.js'
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
  /** Bindings from 4 on: cuts, sizes and runs, or where the numbers of tuples are. */
  readonly buffers: readonly GPUBuffer[]
  /** Their last parameters: numbers of tuples at most, and which words of the buffers are the true ones; none of tiles that are cut. */
  readonly params: readonly number[]
}

/** Parts relations into tiles: for a search as many tuples of the first one each, else by `cut.wesl`. */
export class JoinTiler {
  readonly #strategy: Strategy
  readonly #options: JoinOptions
  readonly #cutter: PairCutter | undefined
  readonly #unbounded: DeviceWord

  private constructor(
    strategy: Strategy,
    options: JoinOptions,
    cutter: PairCutter | undefined,
    unbounded: DeviceWord,
  ) {
    this.#strategy = strategy
    this.#options = options
    this.#cutter = cutter
    this.#unbounded = unbounded
  }

  static async create(device: Device, strategy: Strategy, options: JoinOptions): Promise<JoinTiler> {
    const keys = { keyWords: options.first.keyWords, payloadWords: 0 } as const
    const [cutter, unbounded] = await Promise.all([
      isSearched(strategy, options) ? undefined : PairCutter.create(device, keys, false),
      unboundedCount(device),
    ])
    return new JoinTiler(strategy, options, cutter, unbounded)
  }

  record(recorder: Recorder, scratch: Scratch, first: Tuples, second: Tuples): JoinTiles {
    if (this.#cutter !== undefined) {
      const kind = this.#strategy === 'serial' ? 'serial' : 'cooperative'
      const tileSize = CUT_TILE[kind][this.#options.first.keyWords]
      const { tiles, cuts, sizes, runs } = this.#cutter.record(recorder, scratch, first, second, tileSize)
      return { tiles, buffers: [cuts, sizes, runs], params: [] }
    }
    const { count: firstLive = this.#unbounded } = first
    const { count: secondLive = this.#unbounded } = second
    return {
      tiles: Math.ceil(first.rows / SEARCHED_TILE),
      buffers: [firstLive.buffer, secondLive.buffer],
      params: [first.rows, second.rows, firstLive.index, secondLive.index],
    }
  }
}
