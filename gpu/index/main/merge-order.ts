import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { ArenaContent } from '../arena.js'
import type { TupleOrder } from '../batch/batch.js'
import type { TreeShape } from '../layout.js'

/** Finds the order of the `count` tuples of an arena's delta. May submit what is recorded. */
export type DeltaOrder = (
  recorder: Recorder,
  scratch: Scratch,
  arena: ArenaContent,
  count: number,
) => Promise<TupleOrder>

/** The key order of all of a CSS-tree's tuples, for merging its delta into its sorted part (`merge-order.wesl`). */
export class MergeOrder {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #deltaOrder: DeltaOrder
  readonly #kernels: Kernels<'mark_kept' | 'place_delta' | 'place_kept'>

  constructor(device: Device, primitives: Primitives, shape: TreeShape, deltaOrder: DeltaOrder) {
    const entryPoints = ['mark_kept', 'place_delta', 'place_kept'] as const
    this.#device = device
    this.#primitives = primitives
    this.#shape = shape
    this.#deltaOrder = deltaOrder
    this.#kernels = device.kernels('index/main/merge-order', entryPoints, shape.conditions)
  }

  /**
   * The numbers of all `count` tuples that are in the index, in ascending key order. May submit what is recorded.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async order(recorder: Recorder, scratch: Scratch, arena: ArenaContent, count: number): Promise<TupleOrder> {
    const { sorted } = arena
    if (sorted === undefined) return this.#deltaOrder(recorder, scratch, arena, count)
    const kernels = this.#kernels
    const { word } = this.#shape
    const { tuples } = sorted
    if (!sorted.hasRemoved && arena.tuples.records === tuples) {
      const order = scratch.words(count)
      this.#primitives.iota(recorder, order, count)
      return { recorder, tuples: order }
    }
    const keptRanks = scratch.words(tuples + 1)
    const params = { count: tuples, shape: word }
    recorder.dispatch(kernels.mark_kept, { ...arena.bindings, keptRanks }, params, tuples + 1)
    this.#primitives.scan(recorder, scratch, keptRanks, keptRanks, tuples + 1)
    recorder.submit()
    const [kept] = await this.#device.readWords(keptRanks, 1, 4 * tuples)
    const delta = count - kept!
    const order = scratch.words(count)
    const before = scratch.words(tuples + 1)
    const found = delta > 0 ? await this.#deltaOrder(this.#device.record(), scratch, arena, delta) : undefined
    const merging = found?.recorder ?? this.#device.record()
    merging.clear(before, 0, 4 * (tuples + 1))
    if (found !== undefined) {
      const own = { delta: found.tuples, keptRanks, before, order }
      // No key of a request is looked at.
      const buffers = { ...arena.bindings, ...own, queryHeap: scratch.words(1) }
      merging.dispatch(kernels.place_delta, buffers, { count: delta, shape: word }, delta)
    }
    this.#primitives.scan(merging, scratch, before, before, tuples + 1)
    merging.dispatch(kernels.place_kept, { keptRanks, deltaBefore: before, order }, params, tuples)
    return { recorder: merging, tuples: order }
  }
}
