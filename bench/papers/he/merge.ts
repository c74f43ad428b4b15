import type { Device } from '../../../gpu/device/device.js'
import type { Kernel } from '../../../gpu/device/kernel.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import { groupsFor, type Strategy } from '../../../gpu/primitives/strategy.js'
import {
  type ColumnShape,
  type Columns,
  columnBuffers,
  columnConditions,
  ifPayload,
  scratchColumns,
} from '../../../gpu/relational/columns.js'
import { PAPER_KERNELS } from '../kernels.js'

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

  private constructor(
    strategy: Strategy,
    shape: ColumnShape,
    mergeTiles: Kernel,
    findDiagonals: Kernel | undefined,
  ) {
    this.#strategy = strategy
    this.#shape = shape
    this.#mergeTiles = mergeTiles
    this.#findDiagonals = findDiagonals
  }

  static async create(device: Device, strategy: Strategy, shape: ColumnShape): Promise<Merge> {
    const serial = strategy === 'serial'
    const common = {
      folder: PAPER_KERNELS,
      module: 'he/merge',
      params: 3,
      conditions: { ...columnConditions(shape), serial },
    }
    const [mergeTiles, findDiagonals] = await Promise.all([
      device.kernel({
        ...common,
        entryPoint: 'merge_tiles',
        bindings: ['read', 'read'],
        further: [
          ...ifPayload(shape, [2, 'read'], [3, 'read']),
          [4, 'write'],
          ...ifPayload(shape, [5, 'write']),
          ...(serial ? [] : ([[6, 'read']] as const)),
        ],
      }),
      serial
        ? undefined
        : device.kernel({
            ...common,
            entryPoint: 'find_diagonals',
            bindings: ['read', 'read'],
            further: [[6, 'write']],
          }),
    ])
    return new Merge(strategy, shape, mergeTiles, findDiagonals)
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
    const params = [first.count, second.count, tiles]
    const keys = [first.columns.keys, second.columns.keys]
    const payloads = [first.columns.payloads, second.columns.payloads].filter(
      (buffer) => buffer !== undefined,
    )
    const buffers = [...keys, ...payloads, ...columnBuffers(merged)]
    if (this.#findDiagonals !== undefined) {
      const taken = scratch.words(tiles + 1)
      recorder.dispatch(this.#findDiagonals, [...keys, taken], params, tiles + 1)
      buffers.push(taken)
    }
    recorder.dispatchGroups(this.#mergeTiles, buffers, params, groupsFor(this.#strategy, tiles))
    return merged
  }
}
