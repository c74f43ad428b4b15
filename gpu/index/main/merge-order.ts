import type { Device } from '../../device/device.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { FindOrder } from '../batch/batch.js'
import type { TreeShape } from '../layout.js'

/**
 * Finds the key order of all of a CSS-tree's tuples, for merging its delta into its sorted part (`merge-order.wesl`).
 * @param deltaOrder finds that of the delta's
 */
export function mergeOrder(
  device: Device,
  primitives: Primitives,
  { word, conditions }: TreeShape,
  deltaOrder: FindOrder,
): FindOrder {
  const entryPoints = ['mark_kept', 'place_delta', 'place_kept'] as const
  const kernels = device.kernels('index/main/merge-order', entryPoints, conditions)
  return async (recorder, scratch, arena, count) => {
    const { sorted } = arena
    if (sorted === undefined) return deltaOrder(recorder, scratch, arena, count)
    const { tuples } = sorted
    const order = scratch.words(count)
    if (!sorted.hasRemoved && arena.tuples.records === tuples) {
      primitives.iota(recorder, order, count)
      return { recorder, tuples: order }
    }
    const keptRanks = scratch.words(tuples + 1)
    const params = { count: tuples, shape: word }
    recorder.dispatch(kernels.mark_kept, { ...arena.bindings, keptRanks }, params, tuples + 1)
    primitives.scan(recorder, scratch, keptRanks, keptRanks, tuples + 1)
    recorder.submit()
    const [kept] = await device.readWords(keptRanks, 1, 4 * tuples)
    const delta = count - kept!
    const before = scratch.words(tuples + 1)
    const found = delta > 0 ? await deltaOrder(device.record(), scratch, arena, delta) : undefined
    const merging = found?.recorder ?? device.record()
    merging.clear(before, 0, 4 * (tuples + 1))
    if (found !== undefined) {
      const own = { delta: found.tuples, keptRanks, before, order }
      // No key of a request is looked at.
      const buffers = { ...arena.bindings, ...own, queryHeap: scratch.words(1) }
      merging.dispatch(kernels.place_delta, buffers, { count: delta, shape: word }, delta)
    }
    primitives.scan(merging, scratch, before, before, tuples + 1)
    merging.dispatch(kernels.place_kept, { keptRanks, deltaBefore: before, order }, params, tuples)
    return { recorder: merging, tuples: order }
  }
}
