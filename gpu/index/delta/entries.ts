import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import type { Plan, Runs } from '../batch/batch.js'
import { Count } from '../batch/counts.js'
import type { TreeShape } from '../layout.js'

/** What is to be hung into the tree, in key order. */
export interface Entries {
  /** Upper bound of their number, known to the host. */
  readonly bound: number
  readonly keys: GPUBuffer
  /** Slot and depth where each leaves the tree. */
  readonly places: GPUBuffer
  /** Tuple or node, tagged as slots hold it. */
  readonly entries: GPUBuffer
}

/** The tuples that a batch creates. */
export interface Created {
  /** Their keys, in key order. */
  readonly createdKeys: GPUBuffer
  /** The same in an order in which those that leave the tree at one slot are neighbours, and where they do. */
  readonly keys: GPUBuffer
  readonly places: GPUBuffer
}

/** Lists what is to be hung into the tree for a batch. */
export class EntryLister {
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #kernels: Kernels<'list_creators' | 'count_entries' | 'write_entries'>
  /** Only where keys have a variable length. */
  readonly #variable: Kernels<'arrange_creators'> | undefined

  constructor(device: Device, primitives: Primitives, shape: TreeShape) {
    const { conditions, form } = shape
    const module = 'index/delta/entries'
    const entryPoints = ['list_creators', 'count_entries', 'write_entries'] as const
    this.#primitives = primitives
    this.#shape = shape
    this.#kernels = device.kernels(module, entryPoints, conditions)
    this.#variable = form && device.kernels(module, ['arrange_creators'], conditions)
  }

  /** Lists the tuples that a batch creates. */
  recordCreated(
    recorder: Recorder,
    scratch: Scratch,
    runs: Runs,
    plan: Plan,
    count: number,
    counts: GPUBuffer,
  ): Created {
    const { list_creators: listCreators } = this.#kernels
    const { keyWords, word } = this.#shape
    const params = { count, shape: word }
    const createdKeys = scratch.words(count * keyWords)
    const places = scratch.words(2 * count)
    const inputs = {
      createRanks: plan.createRanks,
      totals: counts,
      keys: runs.keys,
      starts: runs.starts,
      places: runs.places,
      createdKeys,
    }
    if (this.#variable === undefined) {
      recorder.dispatch(listCreators, { ...inputs, createdPlaces: places }, params, count)
      return { createdKeys, keys: createdKeys, places }
    }
    const slots = scratch.words(count)
    // Those past the last created tuple come behind all slots.
    this.#primitives.fill(recorder, slots, count, 0xffffffff)
    recorder.dispatch(listCreators, { ...inputs, createdSlots: slots }, params, count)
    const bySlot = this.#primitives.sort(recorder, scratch, slots, undefined, count, 1)
    const keys = scratch.words(2 * count)
    const arranged = {
      keysIn: createdKeys,
      slots: bySlot.keys,
      numbers: bySlot.values,
      counts,
      keysBySlot: keys,
      placesBySlot: places,
    }
    recorder.dispatch(this.#variable.arrange_creators, arranged, params, count)
    return { createdKeys, keys, places }
  }

  /** The entries of what a batch creates: the created tuples, and the residents whose slots they need. */
  record(
    recorder: Recorder,
    scratch: Scratch,
    arena: Arena,
    runs: Runs,
    plan: Plan,
    created: Created,
    count: number,
    counts: GPUBuffer,
  ): Entries {
    const { keyWords, word } = this.#shape
    const firstTuple = arena.tuples.records
    // Each created tuple brings one resident at most: a tuple, or a node below skipped digits.
    const residents = firstTuple + (arena.heap === undefined ? 0 : arena.nodes.records)
    const bound = Math.min(2 * count, count + residents)
    const params = { count, shape: word, firstTuple }
    if (residents === 0) {
      // Nothing stands in any slot: the entries are the created tuples.
      const entries = scratch.words(count)
      this.#primitives.iota(recorder, entries, count, TUPLE)
      recorder.copy(plan.createRanks, count * 4, counts, Count.entries * 4, 4)
      return { bound: count, keys: created.keys, places: created.places, entries }
    }

    const entryAt = scratch.words(count)
    const inputs = {
      ...arena.bindings,
      queryHeap: runs.heap,
      keysOut: created.keys,
      placesOut: created.places,
      entryAt,
      counts,
    }
    recorder.dispatch(this.#kernels.count_entries, inputs, params, count)
    this.#primitives.scan(recorder, scratch, entryAt, entryAt, count, {
      buffer: counts,
      index: Count.entries,
    })

    const keys = scratch.words(bound * keyWords)
    const places = scratch.words(2 * bound)
    const entries = scratch.words(bound)
    const written = { ...inputs, entryKeys: keys, entryPlaces: places, entries }
    recorder.dispatch(this.#kernels.write_entries, written, params, count)
    return { bound, keys, places, entries }
  }
}

/** The tag of a slot that holds a tuple; `layout.wesl` has the same number. */
const TUPLE = 0x80000000
