import { WarpdexError } from '../../../protocol/errors.js'
import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import { columnBuffers } from '../../primitives/columns.js'
import type { ColumnShape, Primitives, Strategy } from '../../primitives/primitives.js'
import { groupsFor } from '../../primitives/strategy.js'
import { recordTileSums, tileSumsBinding } from '../../primitives/tile-sums.js'
import { elementConditions, elementWords, PairCutter, payloadsOf } from './pairs.js'
import type { SortTuples } from './sort-tuples.js'
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

/** A set operator (`set-operators.wesl`): cut, merge, gather. */
export class SetOperator {
  readonly #primitives: Primitives
  readonly #sort: SortTuples
  readonly #options: SetOperatorOptions
  readonly #strategy: Strategy
  readonly #cutter: PairCutter
  readonly #merge: Kernel
  readonly #gather: Kernel

  private constructor(
    primitives: Primitives,
    sort: SortTuples,
    options: SetOperatorOptions,
    strategy: Strategy,
    cutter: PairCutter,
    [merge, gather]: readonly [Kernel, Kernel],
  ) {
    this.#primitives = primitives
    this.#sort = sort
    this.#options = options
    this.#strategy = strategy
    this.#cutter = cutter
    this.#merge = merge
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
    const serial = strategy === 'serial'
    const common = {
      module: `relational/algebra/${serial ? 'set-operators' : operation === 'union' ? 'set-union' : 'set-filter'}`,
      params: 1,
      conditions: {
        ...conditions,
        serial,
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
    const [cutter, merge, gather] = await Promise.all([
      PairCutter.create(device, shape, byTuple),
      device.kernel({
        ...common,
        entryPoint: serial ? 'merge' : 'mark',
        conditions: { ...common.conditions, counting: true },
        further: [
          ...(conditions.by_tuple ? payloads : []),
          [4, 'read'],
          [5, 'read'],
          ...(serial ? [] : ([[7, 'write']] as const)),
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
          ...(serial ? [] : ([[7, 'read']] as const)),
          [8, 'write'],
          ...(conditions.payload ? ([[9, 'write']] as const) : []),
          tileSumsBinding('read'),
        ],
      }),
    ])
    return new SetOperator(primitives, sort, options, strategy, cutter, [merge, gather])
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
    const serial = this.#strategy === 'serial'
    const words = elementWords(shape, by === 'tuple')
    const tileSize = serial ? 512 : 7680 / words
    const { tiles, cuts, sizes } = this.#cutter.record(recorder, scratch, first, second, tileSize)
    const sums = recordTileSums(recorder, scratch, this.#primitives, this.#strategy, tiles)
    const rows = operation === 'union' ? first.rows + second.rows : first.rows
    const inOrder = isInTupleOrder(first) && (operation !== 'union' || by === 'tuple')
    const result = scratchTuples(scratch, shape, rows, inOrder ? 'tuple' : 'key', sums.total)
    const path = serial ? [] : [scratch.words(tiles * 2 * (7680 / words / 32 + 1))]
    const keys = [first.columns.keys, second.columns.keys]
    const payloads = payloadsOf(first, second)
    const merged = [...keys, ...(by === 'tuple' ? payloads : []), cuts, sizes, ...path, sums.buffer]
    const output = columnBuffers(result.columns)
    const gathered = [...keys, ...payloads, cuts, sizes, ...path, ...output, sums.buffer]
    const groups = groupsFor(this.#strategy, tiles)
    recorder.dispatchGroups(this.#merge, merged, [tiles], groups)
    sums.recordSums()
    recorder.dispatchGroups(
      this.#gather,
      gathered,
      [tiles],
      serial || operation === 'union' ? groups : Math.ceil(tiles / 2),
    )
    return result
  }
}
