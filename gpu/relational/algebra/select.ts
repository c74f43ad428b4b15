import type { Device } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import { unboundedCount } from '../../primitives/device-count.js'
import type { DeviceWord, Primitives, Strategy } from '../../primitives/primitives.js'
import { groupsFor } from '../../primitives/strategy.js'
import type { ColumnShape } from '../columns.js'
import { columnBuffers, columnConditions, ifPayload } from '../columns.js'
import type { TupleLayout } from './attributes.js'
import { MOST_TERMS, type Predicate, type Term, termsOf, termWords } from './predicate.js'
import { KernelsByTerms } from './select-kernels.js'
import { SubgroupSelect } from './subgroup-select.js'
import { recordTileSums, tileSumsBinding } from './tile-sums.js'
import { scratchTuples, type Tuples } from './tuples.js'

/** Words of bits of a tile; as in `select.wesl`. */
const TILE_WORDS = { cooperative: 256, serial: 32 }

/** SELECT over tuples of one shape. More than four terms go through it again. */
export class Select {
  readonly #pass: BitSelect | SubgroupSelect

  private constructor(pass: BitSelect | SubgroupSelect) {
    this.#pass = pass
  }

  static async create(
    device: Device,
    primitives: Primitives,
    strategy: Strategy,
    shape: ColumnShape,
  ): Promise<Select> {
    return new Select(
      strategy === 'subgroups'
        ? await SubgroupSelect.create(device, primitives, shape)
        : await BitSelect.create(device, primitives, strategy, shape),
    )
  }

  /**
   * The tuples for which all comparisons hold, in scratch memory.
   * @throws WarpdexError `BAD_REQUEST` if the predicate names no attribute of the layout or compares with no u32
   */
  record(
    recorder: Recorder,
    scratch: Scratch,
    tuples: Tuples,
    layout: TupleLayout,
    predicate: Predicate,
  ): Tuples {
    const terms = termsOf(layout, predicate)
    if (terms === undefined) return this.#pass.record(recorder, scratch, { ...tuples, rows: 0 }, [])
    let result = tuples
    let first = 0
    do {
      result = this.#pass.record(recorder, scratch, result, terms.slice(first, first + MOST_TERMS))
      first += MOST_TERMS
    } while (first < terms.length)
    return result
  }
}

/** A pass of SELECT by bits (`select.wesl`): mark, emit. */
class BitSelect {
  readonly #primitives: Primitives
  readonly #strategy: Strategy
  readonly #kernels: KernelsByTerms
  readonly #unbounded: DeviceWord

  private constructor(
    primitives: Primitives,
    strategy: Strategy,
    kernels: KernelsByTerms,
    unbounded: DeviceWord,
  ) {
    this.#primitives = primitives
    this.#strategy = strategy
    this.#kernels = kernels
    this.#unbounded = unbounded
  }

  static async create(
    device: Device,
    primitives: Primitives,
    strategy: Exclude<Strategy, 'subgroups'>,
    shape: ColumnShape,
  ): Promise<BitSelect> {
    const kernels = KernelsByTerms.create(shape, async (conditions) => {
      const common = {
        module: 'relational/algebra/select',
        params: 15,
        conditions: { ...columnConditions(shape), ...conditions, serial: strategy === 'serial' },
        bindings: ['read'] as const,
      }
      const [mark, emit] = await Promise.all([
        device.kernel({
          ...common,
          entryPoint: 'mark',
          further: [...ifPayload(shape, [1, 'read']), [2, 'read'], [4, 'write'], tileSumsBinding('write')],
        }),
        device.kernel({
          ...common,
          entryPoint: 'emit',
          further: [
            ...ifPayload(shape, [1, 'read']),
            [4, 'read'],
            [5, 'write'],
            ...ifPayload(shape, [6, 'write']),
            tileSumsBinding('read'),
          ],
        }),
      ])
      return { mark, emit }
    })
    return new BitSelect(primitives, strategy, await kernels, await unboundedCount(device))
  }

  /** The tuples for which all terms hold, in scratch memory. */
  record(recorder: Recorder, scratch: Scratch, tuples: Tuples, terms: readonly Term[]): Tuples {
    const { shape, columns, rows, order, count: live = this.#unbounded } = tuples
    const tileWords = this.#strategy === 'serial' ? TILE_WORDS.serial : TILE_WORDS.cooperative
    const tiles = Math.ceil(rows / (32 * tileWords))
    const sums = recordTileSums(recorder, scratch, this.#primitives, this.#strategy, tiles)
    const result = scratchTuples(scratch, shape, rows, order, sums.total)
    const bits = scratch.words(tiles * tileWords)
    const params = [rows, live.index, tiles, ...termWords(terms)]
    const input = columnBuffers(columns)
    const { mark, emit } = this.#kernels.of(terms)
    const groups = groupsFor(this.#strategy, tiles)
    recorder.dispatchGroups(mark, [...input, live.buffer, bits, sums.buffer], params, groups)
    sums.recordSums()
    const output = columnBuffers(result.columns)
    recorder.dispatchGroups(emit, [...input, bits, ...output, sums.buffer], params, groups)
    return result
  }
}
