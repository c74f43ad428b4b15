import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { ArenaContent } from '../arena.js'
import { furtherBindings, type TreeShape } from '../layout.js'
import type { TupleOrder } from '../write/compact.js'

/** Finds the order of the `count` tuples of an arena's delta. May submit what is recorded. */
export type DeltaOrder = (
  recorder: Recorder,
  scratch: Scratch,
  arena: ArenaContent,
  count: number,
) => Promise<TupleOrder>

type Kernels = Readonly<Record<'markKept' | 'placeHung' | 'placeKept', Kernel>>

/** The key order of all of a CSS-tree's tuples, for merging its delta into its sorted part (`merge-order.wesl`). */
export class MergeOrder {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #deltaOrder: DeltaOrder
  readonly #kernels: Kernels

  private constructor(
    device: Device,
    primitives: Primitives,
    shape: TreeShape,
    deltaOrder: DeltaOrder,
    kernels: Kernels,
  ) {
    this.#device = device
    this.#primitives = primitives
    this.#shape = shape
    this.#deltaOrder = deltaOrder
    this.#kernels = kernels
  }

  static async create(
    device: Device,
    primitives: Primitives,
    shape: TreeShape,
    deltaOrder: DeltaOrder,
  ): Promise<MergeOrder> {
    const common = { module: 'index/main/merge-order', params: 2, conditions: shape.conditions }
    const [markKept, placeHung, placeKept] = await Promise.all([
      device.kernel({
        ...common,
        entryPoint: 'mark_kept',
        bindings: [],
        further: [[1, 'read'], [3, 'write'], ...furtherBindings(shape, 'sorted part')],
      }),
      device.kernel({
        ...common,
        entryPoint: 'place_hung',
        firstBinding: 1,
        bindings: ['read'],
        further: [
          [3, 'read'],
          [4, 'read'],
          [5, 'write'],
          [6, 'write'],
          ...furtherBindings(shape, 'keys'),
          ...furtherBindings(shape, 'sorted part'),
        ],
      }),
      device.kernel({ ...common, entryPoint: 'place_kept', bindings: ['read', 'read', 'write'] }),
    ])
    return new MergeOrder(device, primitives, shape, deltaOrder, { markKept, placeHung, placeKept })
  }

  /**
   * The numbers of all `count` tuples that are in the index, in ascending key order. Submits what is recorded.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async order(recorder: Recorder, scratch: Scratch, arena: ArenaContent, count: number): Promise<TupleOrder> {
    const { sorted } = arena
    if (sorted === undefined) return this.#deltaOrder(recorder, scratch, arena, count)
    const { markKept, placeHung, placeKept } = this.#kernels
    const { word } = this.#shape
    const { tuples } = sorted
    const ranks = scratch.words(tuples + 1)
    const marked = [arena.tuples.buffer, ranks, ...sorted.buffers]
    recorder.dispatch(markKept, marked, [tuples, word], tuples + 1)
    this.#primitives.scan(recorder, scratch, ranks, ranks, tuples + 1)
    recorder.submit()
    const [kept] = await this.#device.readWords(ranks, 1, 4 * tuples)
    const delta = count - kept!
    const order = scratch.words(count)
    const before = scratch.words(tuples + 1)
    let merging: Recorder = this.#device.record()
    if (delta > 0) {
      const found = await this.#deltaOrder(merging, scratch, arena, delta)
      merging = found.recorder
      merging.clear(before, 0, 4 * (tuples + 1))
      const heaps = arena.heap === undefined ? [] : [arena.heap.buffer, scratch.words(1)]
      const buffers = [arena.tuples.buffer, found.tuples, ranks, before, order, ...heaps, ...sorted.buffers]
      merging.dispatch(placeHung, buffers, [delta, word], delta)
    } else {
      merging.clear(before, 0, 4 * (tuples + 1))
    }
    this.#primitives.scan(merging, scratch, before, before, tuples + 1)
    merging.dispatch(placeKept, [ranks, before, order], [tuples, word], tuples)
    return { recorder: merging, tuples: order }
  }
}
