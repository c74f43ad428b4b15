import { WarpdexError } from '../../../protocol/errors.js'
import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives, Strategy } from '../../primitives/primitives.js'
import { groupsFor } from '../../primitives/strategy.js'
import type { ColumnShape } from '../columns.js'
import { columnBuffers } from '../columns.js'
import { elementConditions, elementWords, PairCutter, payloadsOf } from './pairs.js'
import { SEARCHED_TILE, SearchCutter } from './search-cut.js'
import type { SortTuples } from './sort-tuples.js'
import { recordTileSums, tileSumsBinding } from './tile-sums.js'
import { isInTupleOrder, sameShape, scratchTuples, type Tuples } from './tuples.js'

/**
 * * `intersect`: tuples of the first relation that the second has
 * * `difference`: tuples of the first relation that the second has not
 * * `union`: all tuples of the first relation, and those of the second that the first has not
 *
 * Tuples that come several times in one relation are kept or left out together, so that sets give sets.
 */
export type SetOperation = 'intersect' | 'difference' | 'union'

export interface SetOperatorOptions {
  readonly operation: SetOperation
  readonly shape: ColumnShape
  /** Whether a relation has a tuple if it has its key, as Diamos Table 1 defines it, or only if it has all of it. */
  readonly by: 'key' | 'tuple'
}

/** Conditions of the kernels; `union` is reserved there. */
const CONDITIONS = { intersect: 'intersect', difference: 'difference', union: 'unite' }

/** Words of the elements of a tile; as in `tile-ranges.wesl`. */
const TILE_WORDS = 7680
const SERIAL_TILE = 512

/** The kernels of an operator with a strategy. */
interface Form {
  readonly module: string
  /** The entry point that counts. */
  readonly count: 'merge' | 'mark'
  /** Whether tiles are as many tuples of the first relation each, instead of as many of both. */
  readonly searched: boolean
  /** Words that counting leaves for gathering, of a tile of so many elements. */
  readonly bitWords: (tile: number) => number
  /** Tiles that a workgroup gathers. */
  readonly gathered: number
}

const SERIAL: Form = {
  module: 'set-operators',
  count: 'merge',
  searched: false,
  bitWords: () => 0,
  gathered: 1,
}
/** Gathers as many tiles together as have a word of bits for each of 256 invocations. */
const FILTER: Form = {
  module: 'set-filter',
  count: 'mark',
  searched: true,
  bitWords: (tile) => tile / 32,
  gathered: (256 * 32) / SEARCHED_TILE,
}
const UNION: Form = {
  module: 'set-union',
  count: 'mark',
  searched: false,
  bitWords: (tile) => tile / 16,
  gathered: 1,
}

function formOf(strategy: Strategy, operation: SetOperation): Form {
  if (strategy === 'serial') return SERIAL
  return operation === 'union' ? UNION : FILTER
}

/** What the kernels are told of tiles. */
interface Tiling {
  readonly tiles: number
  /** Elements of a tile. */
  readonly size: number
  /** Where they lie in the relations, and how many tuples these have: bindings 4 and 5. */
  readonly places: readonly [GPUBuffer, GPUBuffer]
}

/** Parts two relations into tiles. */
type Tiler = (recorder: Recorder, scratch: Scratch, first: Tuples, second: Tuples) => Tiling

async function tilerOf(
  device: Device,
  strategy: Strategy,
  { operation, shape, by }: SetOperatorOptions,
): Promise<Tiler> {
  const byTuple = by === 'tuple'
  if (formOf(strategy, operation).searched) {
    const cutter = await SearchCutter.create(device, shape, byTuple)
    return (...relations) => {
      const { tiles, lows, sizes } = cutter.record(...relations)
      return { tiles, size: SEARCHED_TILE, places: [lows, sizes] }
    }
  }
  const size = strategy === 'serial' ? SERIAL_TILE : TILE_WORDS / elementWords(shape, byTuple)
  const cutter = await PairCutter.create(device, shape, { byTuple, withRuns: false })
  return (...relations) => {
    const { tiles, cuts, sizes } = cutter.record(...relations, size)
    return { tiles, size, places: [cuts, sizes] }
  }
}

/** A set operator (`set-filter.wesl`, `set-union.wesl`, `set-operators.wesl`): part into tiles, mark or merge, gather. */
export class SetOperator {
  readonly #primitives: Primitives
  readonly #sort: SortTuples
  readonly #options: SetOperatorOptions
  readonly #strategy: Strategy
  readonly #tiler: Tiler
  readonly #form: Form
  readonly #count: Kernel
  readonly #gather: Kernel

  private constructor(
    primitives: Primitives,
    sort: SortTuples,
    options: SetOperatorOptions,
    strategy: Strategy,
    tiler: Tiler,
    [count, gather]: readonly [Kernel, Kernel],
  ) {
    this.#primitives = primitives
    this.#sort = sort
    this.#options = options
    this.#strategy = strategy
    this.#tiler = tiler
    this.#form = formOf(strategy, options.operation)
    this.#count = count
    this.#gather = gather
  }

  static async create(
    device: Device,
    primitives: Primitives,
    sort: SortTuples,
    strategy: Strategy,
    options: SetOperatorOptions,
  ): Promise<SetOperator> {
    const { operation, shape } = options
    const byTuple = options.by === 'tuple'
    const conditions = elementConditions(shape, byTuple)
    const { module, count: counting, bitWords } = formOf(strategy, operation)
    const leavesBits = bitWords(1) > 0
    const common = {
      module: `relational/algebra/${module}`,
      params: 1,
      conditions: {
        ...conditions,
        serial: strategy === 'serial',
        subgroups: strategy === 'subgroups',
        [CONDITIONS[operation]]: true,
        search_first: operation === 'union',
      },
      bindings: ['read', 'read'] as const,
    }
    const payloads = [
      [2, 'read'],
      [3, 'read'],
    ] as const
    const [tiler, count, gather] = await Promise.all([
      tilerOf(device, strategy, options),
      device.kernel({
        ...common,
        entryPoint: counting,
        conditions: { ...common.conditions, counting: true },
        further: [
          ...(conditions.by_tuple ? payloads : []),
          [4, 'read'],
          [5, 'read'],
          ...(leavesBits ? ([[7, 'write']] as const) : []),
          tileSumsBinding('write'),
        ],
      }),
      device.kernel({
        ...common,
        entryPoint: 'gather',
        further: [
          ...(conditions.payload ? payloads : []),
          [4, 'read'],
          [5, 'read'],
          ...(leavesBits ? ([[7, 'read']] as const) : []),
          [8, 'write'],
          ...(conditions.payload ? ([[9, 'write']] as const) : []),
          tileSumsBinding('read'),
        ],
      }),
    ])
    return new SetOperator(primitives, sort, options, strategy, tiler, [count, gather])
  }

  /**
   * The result in scratch memory. By tuple, relations that are not in the order of their tuples are sorted first.
   * @throws WarpdexError `BAD_REQUEST` if a relation has another shape
   */
  record(recorder: Recorder, scratch: Scratch, left: Tuples, right: Tuples): Tuples {
    const { operation, shape, by } = this.#options
    for (const tuples of [left, right]) {
      if (!sameShape(tuples.shape, shape)) {
        throw new WarpdexError(
          'BAD_REQUEST',
          `${operation} takes two relations of the shape that it was made for`,
        )
      }
    }
    const [first, second] = [left, right].map((tuples) =>
      by === 'tuple' ? this.#sort.recordByTuple(recorder, scratch, tuples) : tuples,
    ) as [Tuples, Tuples]
    const { bitWords, gathered } = this.#form
    const { tiles, size, places } = this.#tiler(recorder, scratch, first, second)
    const sums = recordTileSums(recorder, scratch, this.#primitives, this.#strategy, tiles)
    const rows = operation === 'union' ? first.rows + second.rows : first.rows
    const inOrder = isInTupleOrder(first) && (operation !== 'union' || by === 'tuple')
    const result = scratchTuples(scratch, shape, rows, inOrder ? 'tuple' : 'key', sums.total)
    const tileWords = bitWords(size)
    const bits = tileWords > 0 ? [scratch.words(tiles * tileWords)] : []
    const keys = [first.columns.keys, second.columns.keys]
    const payloads = payloadsOf(first, second)
    const counted = [...keys, ...(by === 'tuple' ? payloads : []), ...places, ...bits, sums.buffer]
    const output = columnBuffers(result.columns)
    const moved = [...keys, ...payloads, ...places, ...bits, ...output, sums.buffer]
    const groups = (each: number) => groupsFor(this.#strategy, Math.ceil(tiles / each))
    recorder.dispatchGroups(this.#count, counted, [tiles], groups(1))
    sums.recordSums()
    recorder.dispatchGroups(this.#gather, moved, [tiles], groups(gathered))
    return result
  }
}
