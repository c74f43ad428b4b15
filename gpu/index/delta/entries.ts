import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import { type Arena, treeBuffers } from '../arena.js'
import { furtherBindings, type TreeShape } from '../layout.js'
import { Count } from '../write/counts.js'
import type { Plan } from '../write/plan.js'
import type { Runs } from '../write/runs.js'

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

interface Kernels {
  readonly listCreators: Kernel
  /** Only where keys have a variable length. */
  readonly arrangeCreators: Kernel | undefined
  readonly countEntries: Kernel
  readonly writeEntries: Kernel
}

/** Lists what is to be hung into the tree for a batch. */
export class EntryLister {
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #kernels: Kernels

  private constructor(primitives: Primitives, shape: TreeShape, kernels: Kernels) {
    this.#primitives = primitives
    this.#shape = shape
    this.#kernels = kernels
  }

  static async create(device: Device, primitives: Primitives, shape: TreeShape): Promise<EntryLister> {
    const { conditions } = shape
    const common = { module: 'index/delta/entries', params: 3, conditions }
    const further = furtherBindings(shape, 'tree')
    const counted = ['read', 'read', 'read', 'read', 'write', 'read'] as const
    const [listCreators, arrangeCreators, countEntries, writeEntries] = await Promise.all([
      device.kernel({
        ...common,
        entryPoint: 'list_creators',
        bindings: ['read', 'read', 'read', 'read', 'read', 'write', 'write'],
      }),
      shape.form === undefined
        ? undefined
        : device.kernel({
            ...common,
            entryPoint: 'arrange_creators',
            bindings: ['read', 'read', 'read'],
            further: ARRANGED,
          }),
      device.kernel({ ...common, entryPoint: 'count_entries', bindings: counted, further }),
      device.kernel({
        ...common,
        entryPoint: 'write_entries',
        bindings: [...counted, 'write', 'write', 'write'],
        further,
      }),
    ])
    return new EntryLister(primitives, shape, { listCreators, arrangeCreators, countEntries, writeEntries })
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
    const { listCreators, arrangeCreators } = this.#kernels
    const { keyWords, word } = this.#shape
    const params = [count, word, 0]
    const createdKeys = scratch.words(count * keyWords)
    const places = scratch.words(2 * count)
    const inputs = [plan.createRanks, counts, runs.keys, runs.starts, runs.places]
    if (arrangeCreators === undefined) {
      recorder.dispatch(listCreators, [...inputs, createdKeys, places], params, count)
      return { createdKeys, keys: createdKeys, places }
    }
    const slots = scratch.words(count)
    // Those past the last created tuple come behind all slots.
    this.#primitives.fill(recorder, slots, count, 0xffffffff)
    recorder.dispatch(listCreators, [...inputs, createdKeys, slots], params, count)
    const bySlot = this.#primitives.sort(recorder, scratch, slots, undefined, count, 1)
    const keys = scratch.words(2 * count)
    const arranged = [createdKeys, bySlot.keys, bySlot.values, counts, keys, places]
    recorder.dispatch(arrangeCreators, arranged, params, count)
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
    const { countEntries, writeEntries } = this.#kernels
    const firstTuple = arena.tuples.records
    // Each created tuple brings one resident at most: a tuple, or a node below skipped digits.
    const residents = firstTuple + (arena.heap === undefined ? 0 : arena.nodes.records)
    const bound = Math.min(2 * count, count + residents)
    const params = [count, word, firstTuple]
    if (residents === 0) {
      // Nothing stands in any slot: the entries are the created tuples.
      const entries = scratch.words(count)
      this.#primitives.iota(recorder, entries, count, TUPLE)
      recorder.copy(plan.createRanks, count * 4, counts, Count.entries * 4, 4)
      return { bound: count, keys: created.keys, places: created.places, entries }
    }

    const entryAt = scratch.words(count)
    const tree = [arena.nodes.buffer, arena.tuples.buffer]
    const inputs = [...tree, created.keys, created.places, entryAt, counts]
    const further = treeBuffers(arena, runs.heap)
    recorder.dispatch(countEntries, [...inputs, ...further], params, count)
    this.#primitives.scan(recorder, scratch, entryAt, entryAt, count, {
      buffer: counts,
      index: Count.entries,
    })

    const keys = scratch.words(bound * keyWords)
    const places = scratch.words(2 * bound)
    const entries = scratch.words(bound)
    recorder.dispatch(writeEntries, [...inputs, keys, places, entries, ...further], params, count)
    return { bound, keys, places, entries }
  }
}

/** The tag of a slot that holds a tuple; `layout.wesl` has the same number. */
const TUPLE = 0x80000000

/** The bindings of `arrange_creators` behind the first three. */
const ARRANGED = [
  [5, 'read'],
  [6, 'write'],
  [7, 'write'],
] as const
