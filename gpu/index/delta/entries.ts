import type { Device, Kernels } from '../../device/device.js'
import type { Arena } from '../arena.js'
import type { BatchWork } from '../batch/work.js'
import type { TreeShape } from '../layout.js'

/** Lists what is to be hung into the tree for a batch, in key order. */
export class EntryLister {
  readonly #shape: TreeShape
  readonly #kernels: Kernels<'list_creators' | 'count_entries' | 'write_entries'>
  /** Only where keys have a variable length. */
  readonly #variable: Kernels<'arrange_creators'> | undefined

  constructor(device: Device, shape: TreeShape) {
    const { conditions, form } = shape
    const module = 'index/delta/entries'
    const entryPoints = ['list_creators', 'count_entries', 'write_entries'] as const
    this.#shape = shape
    this.#kernels = device.kernels(module, entryPoints, conditions)
    this.#variable = form && device.kernels(module, ['arrange_creators'], conditions)
  }

  /**
   * Lists the keys of the tuples that a batch creates in key order (`createdKeys`), and in an order in which those that leave the tree at one
   * slot are neighbours, with where they do (`keysBySlot`, `placesBySlot`).
   */
  recordCreated(work: BatchWork): void {
    const { count, recorder, scratch, primitives, buffers } = work
    const { list_creators: listCreators } = this.#kernels
    const createdKeys = work.words('createdKeys', count * this.#shape.keyWords)
    const placesBySlot = work.words('placesBySlot', 2 * count)
    if (this.#variable === undefined) {
      Object.assign(buffers, { keysBySlot: createdKeys, createdPlaces: placesBySlot })
      work.dispatch(listCreators)
      return
    }
    const slots = work.words('createdSlots')
    // Those past the last created tuple come behind all slots.
    primitives.fill(recorder, slots, count, 0xffffffff)
    work.dispatch(listCreators)
    const bySlot = primitives.sort(recorder, scratch, slots, undefined, count, 1)
    Object.assign(buffers, { slots: bySlot.keys, numbers: bySlot.values })
    work.words('keysBySlot', 2 * count)
    work.dispatch(this.#variable.arrange_creators)
  }

  /**
   * Lists the entries of what a batch creates: the created tuples, and the existing ones whose slots they need. Their keys (`entryKeys`), slot
   * and depth where each leaves the tree (`entryPlaces`), and tuple or node, tagged as slots hold it (`entries`).
   * @returns upper bound of their number
   */
  record(work: BatchWork, arena: Arena): number {
    const { count, recorder, primitives, buffers } = work
    const firstTuple = arena.tuples.records
    // Each created tuple brings one existing entry at most: a tuple, or a node below skipped digits.
    const existing = firstTuple + (arena.heap === undefined ? 0 : arena.nodes.records)
    if (existing === 0) {
      // Nothing stands in any slot: the entries are the created tuples.
      primitives.iota(recorder, work.words('entries'), count, TUPLE)
      Object.assign(buffers, { entryKeys: buffers.keysBySlot, entryPlaces: buffers.placesBySlot })
      work.countTotal('createRanks', 'entries')
      return count
    }
    work.words('entryAt')
    work.dispatch(this.#kernels.count_entries)
    work.scan('entryAt', 'entries')
    const bound = Math.min(2 * count, count + existing)
    work.words('entryKeys', bound * this.#shape.keyWords)
    work.words('entryPlaces', 2 * bound)
    work.words('entries', bound)
    work.dispatch(this.#kernels.write_entries)
    return bound
  }
}

/** The tag of a slot that holds a tuple; `layout.wesl` has the same number. */
const TUPLE = 0x80000000
