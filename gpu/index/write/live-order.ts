import { WarpdexError } from '../../../protocol/errors.js'
import type { Device } from '../../device/device.js'
import { RecordSort } from '../../keys/sort-records.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { FindOrder } from '../batch/batch.js'
import type { TreeShape } from '../layout.js'
import type { BreadthFirst } from '../read/breadth-first.js'

/**
 * Finds the key order of the tuples in a tree's nodes, without a CSS-tree's sorted part: level by level, or by sorting where keys have a variable
 * length, since going down would take a dispatch for each of many levels.
 * @param breadthFirst goes down; undefined for keys of variable length
 */
export function liveOrder(
  device: Device,
  primitives: Primitives,
  shape: TreeShape,
  breadthFirst: BreadthFirst | undefined,
): FindOrder {
  if (breadthFirst !== undefined) {
    return async (recorder, scratch, arena, live) => {
      return { recorder, tuples: breadthFirst.order({ recorder, scratch, arena }, live) }
    }
  }
  const sort = new RecordSort(device, primitives)
  const kernels = device.kernels('index/write/live-order', ['mark_live', 'take_records'], shape.conditions)
  return async (recorder, scratch, arena, live) => {
    if (arena.heap === undefined) throw new WarpdexError('INTERNAL', 'keys of fixed width lie in no heap')
    const { buffer: tuples, records: count } = arena.tuples
    const flags = scratch.words(count)
    const numbers = scratch.words(count)
    const records = scratch.words(2 * live)
    const buffers = { tuples, flags, numbers, records }
    const params = { shape: shape.word, first: arena.sorted?.tuples ?? 0 }
    recorder.dispatch(kernels.mark_live, buffers, { ...params, count }, count)
    const total = { buffer: scratch.words(1), index: 0 }
    primitives.compact(recorder, scratch, flags, count, numbers, total)
    recorder.dispatch(kernels.take_records, buffers, { ...params, count: live }, live)
    const order = await sort.sort(recorder, scratch, { heap: arena.heap.buffer, records }, live)
    const ordered = scratch.words(live)
    const gathering = device.record()
    primitives.gather(gathering, numbers, order, ordered, live, 1)
    return { recorder: gathering, tuples: ordered }
  }
}
