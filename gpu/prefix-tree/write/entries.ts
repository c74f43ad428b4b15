import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import { Count } from './counts.js'
import type { Plan } from './plan.js'
import type { Runs } from './runs.js'

/** Tuples to hang into the tree, in key order. */
export interface Entries {
  /** Upper bound of their number, known to the host. */
  readonly bound: number
  readonly keys: GPUBuffer
  /** Slot and depth where each leaves the tree. */
  readonly slots: GPUBuffer
  /** Tuple, tagged as slots hold it. */
  readonly tuples: GPUBuffer
}

type Kernels = Readonly<Record<'numberCreators' | 'countEntries' | 'writeEntries', Kernel>>

/** Lists the tuples that a batch creates, with the lone residents whose slots they need. */
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
    const common = {
      module: 'prefix-tree/write/entries',
      params: 3,
      conditions: { wide: shape.keyWords === 2 },
    }
    const counted = ['read', 'read', 'read', 'read', 'read', 'read', 'read', 'write', 'read'] as const
    const [numberCreators, countEntries, writeEntries] = await Promise.all([
      device.kernel({ ...common, entryPoint: 'number_creators', bindings: ['read', 'read', 'write'] }),
      device.kernel({ ...common, entryPoint: 'count_entries', bindings: counted }),
      device.kernel({
        ...common,
        entryPoint: 'write_entries',
        bindings: [...counted, 'write', 'write', 'write'],
      }),
    ])
    return new EntryLister(primitives, shape, { numberCreators, countEntries, writeEntries })
  }

  record(
    recorder: Recorder,
    scratch: Scratch,
    arena: Arena,
    runs: Runs,
    plan: Plan,
    count: number,
    counts: GPUBuffer,
  ): Entries {
    const { keyWords, word } = this.#shape
    const residents = arena.tuples.records
    const bound = Math.min(2 * count, count + residents)
    const params = [count, word, residents]
    const creators = scratch.words(count)
    recorder.dispatch(this.#kernels.numberCreators, [plan.createRanks, counts, creators], params, count)

    const entryAt = scratch.words(count)
    const inputs = [...arena.buffers, runs.keys, runs.starts, runs.places, creators, entryAt, counts]
    recorder.dispatch(this.#kernels.countEntries, inputs, params, count)
    this.#primitives.scan(recorder, scratch, entryAt, entryAt, count, {
      buffer: counts,
      index: Count.entries,
    })

    const keys = scratch.words(bound * keyWords)
    const slots = scratch.words(2 * bound)
    const tuples = scratch.words(bound)
    recorder.dispatch(this.#kernels.writeEntries, [...inputs, keys, slots, tuples], params, count)
    return { bound, keys, slots, tuples }
  }
}
