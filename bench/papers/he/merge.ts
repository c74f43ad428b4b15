import type { Device } from '../../../gpu/device/device.js'
import type { Kernel } from '../../../gpu/device/kernel.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import { groupsFor, type Strategy } from '../../../gpu/primitives/strategy.js'
import { PAPER_KERNELS } from '../kernels.js'
import { type ColumnShape, type Columns, columnConditions, scratchColumns } from './columns.js'

/** Elements of a tile of the output; as in `merge.wesl`. */
const TILE = { cooperative: 2048, serial: 512 }

/** Columns in the order of their keys. */
export interface SortedRun {
  readonly columns: Columns
  readonly count: number
}

/** Merges sorted runs of one shape (`merge.wesl`): one dispatch to cut the work into tiles and one to merge them; in serial one. */
export class Merge {
  readonly #strategy: Strategy
  readonly #shape: ColumnShape
  readonly #mergeTiles: Kernel
  /** Only where a workgroup shares a tile. */
  readonly #findDiagonals: Kernel | undefined

  constructor(device: Device, strategy: Strategy, shape: ColumnShape) {
    const serial = strategy === 'serial'
    const kernel = (name: string) =>
      device.kernels('he/merge', [name], { ...columnConditions(shape), serial }, PAPER_KERNELS)[name]!
    this.#strategy = strategy
    this.#shape = shape
    this.#mergeTiles = kernel('merge_tiles')
    this.#findDiagonals = serial ? undefined : kernel('find_diagonals')
  }

  /**
   * Merges two runs that are sorted by key. Of equal keys those of the first run come first.
   * @returns scratch columns with the elements of both
   */
  record(recorder: Recorder, scratch: Scratch, first: SortedRun, second: SortedRun): Columns {
    const count = first.count + second.count
    const merged = scratchColumns(scratch, this.#shape, count)
    const tileSize = this.#strategy === 'serial' ? TILE.serial : TILE.cooperative
    const tiles = Math.ceil(count / tileSize)
    if (tiles === 0) return merged
    const params = { firstCount: first.count, secondCount: second.count, tiles }
    const taken = this.#findDiagonals && scratch.words(tiles + 1)
    const buffers = {
      firstKeys: first.columns.keys,
      secondKeys: second.columns.keys,
      firstPayloads: first.columns.payloads,
      secondPayloads: second.columns.payloads,
      mergedKeys: merged.keys,
      mergedPayloads: merged.payloads,
      taken,
      takenByTile: taken,
    }
    if (this.#findDiagonals) recorder.dispatch(this.#findDiagonals, buffers, params, tiles + 1)
    recorder.dispatchGroups(this.#mergeTiles, buffers, params, groupsFor(this.#strategy, tiles))
    return merged
  }
}
