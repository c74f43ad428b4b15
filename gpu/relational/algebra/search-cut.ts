import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import { unboundedCount } from '../../primitives/device-count.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import type { ColumnShape } from '../columns.js'
import { cutBindings, cutInputs, elementConditions } from './pairs.js'
import type { Tuples } from './tuples.js'

/** Tuples of the first relation that are a tile; as in `searched-tile.wesl`. */
export const SEARCHED_TILE = 2048

/** Tiles whose places one workgroup of `search-cut.wesl` looks for. */
const TILES_OF_GROUP = 8

/** Tiles of a first relation, and where they lie in the second one. */
export interface SearchedTiles {
  readonly tiles: number
  /** For each tile and past the last: tuples of the second relation before its first one. */
  readonly lows: GPUBuffer
  /** Numbers of tuples of both. */
  readonly sizes: GPUBuffer
}

/** Parts a relation into tiles of as many tuples, and looks for their places in another one (`search-cut.wesl`). */
export class SearchCutter {
  readonly #kernel: Kernel
  /** Whether the kernel reads payloads. */
  readonly #readsPayloads: boolean
  readonly #unbounded: DeviceWord

  private constructor(kernel: Kernel, readsPayloads: boolean, unbounded: DeviceWord) {
    this.#kernel = kernel
    this.#readsPayloads = readsPayloads
    this.#unbounded = unbounded
  }

  /** @param byTuple whether relations are compared by all words of their tuples instead of by key */
  static async create(device: Device, shape: ColumnShape, byTuple: boolean): Promise<SearchCutter> {
    const conditions = elementConditions(shape, byTuple)
    const [kernel, unbounded] = await Promise.all([
      device.kernel({
        module: 'relational/algebra/search-cut',
        entryPoint: 'cut_for_search',
        params: 5,
        conditions,
        bindings: ['read', 'read'],
        further: cutBindings(conditions.by_tuple),
      }),
      unboundedCount(device),
    ])
    return new SearchCutter(kernel, conditions.by_tuple, unbounded)
  }

  record(recorder: Recorder, scratch: Scratch, first: Tuples, second: Tuples): SearchedTiles {
    const tiles = Math.ceil(first.rows / SEARCHED_TILE)
    const [lows, sizes] = [scratch.words(tiles + 1), scratch.words(2)]
    const { buffers, numbers } = cutInputs(first, second, this.#readsPayloads, this.#unbounded)
    recorder.dispatchGroups(
      this.#kernel,
      [...buffers, lows, sizes],
      [...numbers, tiles],
      Math.ceil((tiles + 1) / TILES_OF_GROUP),
    )
    return { tiles, lows, sizes }
  }
}
