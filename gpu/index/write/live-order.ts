import { WarpdexError } from '../../../protocol/errors.js'
import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import { RecordSort } from '../../keys/sort-records.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { ArenaContent } from '../arena.js'
import type { TupleOrder } from '../batch/batch.js'
import type { TreeShape } from '../layout.js'

/** The key order of a tree over keys of variable length, by sorting: going down would take a dispatch for each of its levels. */
export class LiveOrder {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #sort: RecordSort
  readonly #kernels: Kernels<'mark_live' | 'take_records'>

  constructor(device: Device, primitives: Primitives, shape: TreeShape) {
    const entryPoints = ['mark_live', 'take_records'] as const
    this.#device = device
    this.#primitives = primitives
    this.#shape = shape
    this.#sort = new RecordSort(device, primitives)
    this.#kernels = device.kernels('index/write/live-order', entryPoints, shape.conditions)
  }

  /**
   * The numbers of all `live` tuples that are in the tree, in ascending key order, without a CSS-tree's sorted part. Submits what is
   * recorded.
   */
  async order(recorder: Recorder, scratch: Scratch, arena: ArenaContent, live: number): Promise<TupleOrder> {
    if (arena.heap === undefined) throw new WarpdexError('INTERNAL', 'keys of fixed width lie in no heap')
    const { word } = this.#shape
    const { buffer: tuples, records: count } = arena.tuples
    const first = arena.sorted?.tuples ?? 0
    const flags = scratch.words(count)
    const numbers = scratch.words(count)
    const records = scratch.words(2 * live)
    const buffers = { tuples, flags, numbers, records }
    recorder.dispatch(this.#kernels.mark_live, buffers, { count, shape: word, first }, count)
    const total = { buffer: scratch.words(1), index: 0 }
    this.#primitives.compact(recorder, scratch, flags, count, numbers, total)
    recorder.dispatch(this.#kernels.take_records, buffers, { count: live, shape: word }, live)
    const order = await this.#sort.sort(recorder, scratch, { heap: arena.heap.buffer, records }, live)
    const ordered = scratch.words(live)
    const gathering = this.#device.record()
    this.#primitives.gather(gathering, numbers, order, ordered, live, 1)
    return { recorder: gathering, tuples: ordered }
  }
}
