import { WarpdexError } from '../../../protocol/errors.js'
import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { NormalForm } from '../../keys/normalise.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { ArenaContent } from '../arena.js'
import type { TreeShape } from '../layout.js'
import type { TupleOrder } from './compact.js'
import { RecordSorter } from './record-sorter.js'

/** The key order of a tree over keys of variable length, by sorting: going down would take a dispatch for each of its levels. */
export class LiveOrder {
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #sorter: RecordSorter
  readonly #markLive: Kernel
  readonly #takeRecords: Kernel

  private constructor(
    primitives: Primitives,
    shape: TreeShape,
    sorter: RecordSorter,
    markLive: Kernel,
    takeRecords: Kernel,
  ) {
    this.#primitives = primitives
    this.#shape = shape
    this.#sorter = sorter
    this.#markLive = markLive
    this.#takeRecords = takeRecords
  }

  static async create(
    device: Device,
    primitives: Primitives,
    shape: TreeShape,
    form: NormalForm,
  ): Promise<LiveOrder> {
    const { conditions } = shape
    const common = { module: 'index/write/live-order', params: 3, conditions }
    const [sorter, markLive, takeRecords] = await Promise.all([
      RecordSorter.create(device, primitives, form),
      device.kernel({ ...common, entryPoint: 'mark_live', bindings: ['read', 'write'] }),
      device.kernel({ ...common, entryPoint: 'take_records', bindings: ['read', 'read', 'write'] }),
    ])
    return new LiveOrder(primitives, shape, sorter, markLive, takeRecords)
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
    recorder.dispatch(this.#markLive, [tuples, flags], [count, word, first], count)
    const total = { buffer: scratch.words(1), index: 0 }
    this.#primitives.compact(recorder, scratch, flags, count, numbers, total)
    recorder.dispatch(this.#takeRecords, [tuples, numbers, records], [live, word, 0], live)
    const { heap } = arena
    const sorted = await this.#sorter.sortRecords(recorder, scratch, heap.buffer, records, live)
    const ordered = scratch.words(live)
    this.#primitives.gather(sorted.recorder, numbers, sorted.order, ordered, live, 1)
    return { recorder: sorted.recorder, tuples: ordered }
  }
}
