import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Primitives } from '../../primitives/primitives.js'
import { Arena, type ArenaContent } from '../arena.js'
import type { FindOrder } from '../batch/batch.js'
import { COUNTS, Count, needOf } from '../batch/counts.js'
import { BatchWork } from '../batch/work.js'
import type { Builder } from '../delta/build.js'
import { createBuilder } from '../delta/create-builder.js'
import type { TreeShape } from '../layout.js'
import { KeyWriter } from './created-keys.js'
import { OrderLinker } from './order-links.js'
import { LONG_LIST_GROUPS } from './settle.js'

/** Called between expensive passes, with what is recorded: gives back what to go on recording with. */
export type Pace = (recorder: Recorder) => Promise<Recorder>

/** Leaves all passes in one submission. */
const together: Pace = async (recorder) => recorder

/** Rebuilds a tree from its own sorted order, without its garbage. */
export class Compactor {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #findOrder: FindOrder
  /** Undefined for CSS-trees, whose tuples all go to the sorted part. */
  readonly #builder: Builder | undefined
  readonly #keys: KeyWriter | undefined
  readonly #linker: OrderLinker | undefined
  readonly #kernels: Kernels<'measure_tuples' | 'copy_tuples' | 'copy_long'>

  /** @param findOrder finds the order of a tree's keys */
  constructor(device: Device, primitives: Primitives, shape: TreeShape, findOrder: FindOrder) {
    const { css, linked } = shape.conditions
    this.#device = device
    this.#primitives = primitives
    this.#shape = shape
    this.#findOrder = findOrder
    this.#builder = css ? undefined : createBuilder(device, shape)
    this.#keys = shape.form && new KeyWriter(device, shape)
    this.#linker = linked ? new OrderLinker(device, shape) : undefined
    const moving = { ...shape.conditions, moving: true }
    this.#kernels = {
      ...device.kernels('index/write/compact', ['measure_tuples'], shape.conditions),
      ...device.kernels('index/write/compact', ['copy_tuples', 'copy_long'], moving),
    }
  }

  /**
   * A new arena with the live content of `arena`, which is left as it is. The directory of its sorted part is yet to be built.
   * @param tuples number of live tuples
   * @param options `pace` may submit what is recorded and wait, so that others get their turn; `findOrder` finds the order of the tuples in place
   * of all that the tree has
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async compact(
    arena: ArenaContent,
    tuples: number,
    { findOrder = this.#findOrder, pace = together }: { findOrder?: FindOrder; pace?: Pace } = {},
  ): Promise<Arena> {
    return this.#device.withScratch(async (scratch) => {
      const params = { shape: this.#shape.word, firstTuple: 0 }
      const work = new BatchWork(this.#device.record(), scratch, this.#primitives, tuples, params)
      const totals = await this.#plan(work, arena, findOrder, pace)
      const need = { ...needOf(totals), sorted: tuples }
      const compacted = await Arena.create(this.#device, this.#shape, need, arena.allowance.bytes())
      compacted.allowance = arena.allowance
      try {
        await this.#copy(work, compacted, totals, pace)
        return compacted
      } catch (error) {
        compacted.destroy()
        throw error
      }
    })
  }

  /** Finds the order of the tuples and what the new arena takes, as counts of a batch that creates all of them. */
  async #plan(work: BatchWork, arena: ArenaContent, findOrder: FindOrder, pace: Pace): Promise<Uint32Array> {
    const { count: tuples, scratch } = work
    const counts = work.column('counts')
    this.#device.upload(counts, initialCounts(tuples))
    const { recorder, tuples: order } = await findOrder(work.recorder, scratch, arena, tuples)
    work.recorder = await pace(recorder)
    // All keys lie in the old heap; there are none of a request.
    const heaps = { sourceHeap: arena.heap?.buffer, queryHeap: scratch.words(1) }
    Object.assign(work.buffers, arena.bindings, heaps, { order })
    work.buffers.createdKeys = work.words('entryKeys', tuples * this.#shape.keyWords)
    work.words('entryPlaces', 2 * tuples)
    work.words('entries')
    work.words('extentOffsets')
    work.dispatch(this.#kernels.measure_tuples)
    work.scan('extentOffsets', 'extentWords')
    work.recorder = await pace(work.recorder)
    const complete = this.#builder?.plan(work, tuples, undefined)
    this.#keys?.recordCount(work)
    work.recorder.submit()
    await complete?.()
    return this.#device.readWords(counts, COUNTS)
  }

  async #copy(work: BatchWork, compacted: Arena, totals: Uint32Array, pace: Pace): Promise<void> {
    const { count: tuples, buffers } = work
    const extentWords = totals[Count.extentWords]!
    const firstNode = compacted.takeNodes(totals[Count.nodes]!)
    Object.assign(work.params, { firstExtent: compacted.extents.take(extentWords), extentWords })
    compacted.takeTuples(tuples)
    Object.assign(buffers, { newTuples: compacted.tuples.buffer, newExtents: compacted.extents.buffer })
    work.recorder = this.#device.record()
    work.recorder.clear(work.words('longCount', 1), 0, 4)
    work.words('longTuples')
    work.dispatch(this.#kernels.copy_tuples)
    work.recorder = await pace(work.recorder)
    if (extentWords > 0) work.dispatchGroups(this.#kernels.copy_long, Math.min(tuples, LONG_LIST_GROUPS))
    Object.assign(buffers, compacted.bindings, { heap: buffers.sourceHeap })
    if (this.#keys !== undefined) {
      work.recorder = await pace(work.recorder)
      this.#keys.record(work, compacted, tuples, totals[Count.keyWords]!)
    }
    work.recorder = await pace(work.recorder)
    this.#builder?.record(work, compacted, tuples, firstNode)
    this.#linker?.recordInOrder(work, tuples)
    const last = await pace(work.recorder)
    last.submit()
  }
}

/** Counts of a batch that creates, and hangs into the tree, so many tuples. */
function initialCounts(tuples: number): Uint8Array {
  const counts = new Uint32Array(COUNTS)
  counts[Count.entries] = tuples
  counts[Count.creates] = tuples
  return new Uint8Array(counts.buffer)
}
