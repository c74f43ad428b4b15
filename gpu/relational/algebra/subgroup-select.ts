import type { Device } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import { unboundedCount } from '../../primitives/device-count.js'
import type { DeviceWord, Primitives } from '../../primitives/primitives.js'
import { type SubgroupTile, subgroupTile } from '../../primitives/strategy.js'
import type { ColumnShape } from '../columns.js'
import { columnBuffers, columnConditions, ifPayload, scratchColumns } from '../columns.js'
import { type Term, termWords } from './predicate.js'
import { KernelsByTerms } from './select-kernels.js'
import { scratchTuples, type Tuples } from './tuples.js'

/** Tuples of an invocation; as in `subgroup-select.wesl`. */
const TUPLES = 16
/** Room for how many of them is kept, one in so many. */
const KEPT_SHARE = 4
/** Pieces of a tile at most; as in `subgroup-tile.wesl`. */
const MOST_SUBGROUPS = 16

/** Tiles that each invocation adds up, so that its workgroup knows what comes before its own; where there are more, they are scanned. */
const ADDED_TILES = 16

/** A pass of SELECT on GPUs whose subgroups have one size (`subgroup-select.wesl`): mark, emit. */
export class SubgroupSelect {
  readonly #primitives: Primitives
  readonly #tile: SubgroupTile
  readonly #kernels: KernelsByTerms
  readonly #unbounded: DeviceWord

  private constructor(
    primitives: Primitives,
    tile: SubgroupTile,
    kernels: KernelsByTerms,
    unbounded: DeviceWord,
  ) {
    this.#primitives = primitives
    this.#tile = tile
    this.#kernels = kernels
    this.#unbounded = unbounded
  }

  static async create(device: Device, primitives: Primitives, shape: ColumnShape): Promise<SubgroupSelect> {
    const tile = subgroupTile(device, 'runs')
    const kernels = KernelsByTerms.create(shape, async (conditions) => {
      const common = {
        module: 'relational/algebra/subgroup-select',
        params: 15,
        conditions: { ...columnConditions(shape), ...conditions, ...tile.conditions },
        bindings: ['read'] as const,
      }
      const [mark, emit] = await Promise.all([
        device.kernel({
          ...common,
          entryPoint: 'mark',
          further: [
            ...ifPayload(shape, [1, 'read']),
            [2, 'read'],
            [7, 'write'],
            ...ifPayload(shape, [8, 'write']),
            [9, 'write'],
            [10, 'write'],
          ],
        }),
        device.kernel({
          ...common,
          entryPoint: 'emit',
          further: [
            ...ifPayload(shape, [1, 'read']),
            [2, 'read'],
            [7, 'read'],
            ...ifPayload(shape, [8, 'read']),
            [9, 'read'],
            [10, 'read'],
            [5, 'write'],
            ...ifPayload(shape, [6, 'write']),
            [11, 'write'],
          ],
        }),
      ])
      return { mark, emit }
    })
    return new SubgroupSelect(primitives, tile, await kernels, await unboundedCount(device))
  }

  /** The tuples for which all terms hold, in scratch memory. */
  record(recorder: Recorder, scratch: Scratch, tuples: Tuples, terms: readonly Term[]): Tuples {
    const { shape, columns, rows, order, count: live = this.#unbounded } = tuples
    // No tuples still have a number to write.
    const tiles = Math.max(1, Math.ceil(rows / (TUPLES * this.#tile.invocations)))
    const room = (tiles * TUPLES * this.#tile.invocations) / KEPT_SHARE
    const kept = columnBuffers(scratchColumns(scratch, shape, room))
    const [counts, pieces] = [scratch.words(tiles), scratch.words(tiles * MOST_SUBGROUPS)]
    const total = { buffer: scratch.words(1), index: 0 }
    const result = scratchTuples(scratch, shape, rows, order, total)
    const params = [rows, live.index, tiles, ...termWords(terms)]
    const { mark, emit } = this.#kernels.of(terms)
    const input = [...columnBuffers(columns), live.buffer, ...kept, counts, pieces]
    recorder.dispatchGroups(mark, input, params, tiles)
    if (tiles > ADDED_TILES * this.#tile.invocations) {
      this.#primitives.scan(recorder, scratch, counts, counts, tiles)
    }
    const output = [...columnBuffers(result.columns), total.buffer]
    recorder.dispatchGroups(emit, [...input, ...output], params, tiles)
    return result
  }
}
