import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import { Count } from './counts.js'

/** A batch grouped by key. Items are in key order, those of one key in the order of the batch: a run. */
export interface Runs {
  /** Ordered keys, sorted. */
  readonly keys: GPUBuffer
  /** Number in the batch of each sorted item. */
  readonly order: GPUBuffer
  /** Run of each sorted item. */
  readonly runsOf: GPUBuffer
  /** First sorted item of each run, and the number of items after the last. */
  readonly starts: GPUBuffer
  /** Slot and depth at which each run's key leaves the tree. */
  readonly places: GPUBuffer
  /** Tuple of each run's key, if it is in the tree. */
  readonly residents: GPUBuffer
}

type Kernels = Readonly<Record<'orderKeys' | 'markHeads' | 'numberRuns' | 'locateRuns', Kernel>>

/** Sorts a batch and finds each of its keys in the tree. */
export class RunFinder {
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #kernels: Kernels

  private constructor(primitives: Primitives, shape: TreeShape, kernels: Kernels) {
    this.#primitives = primitives
    this.#shape = shape
    this.#kernels = kernels
  }

  static async create(device: Device, primitives: Primitives, shape: TreeShape): Promise<RunFinder> {
    const conditions = { wide: shape.keyWords === 2 }
    const common = { module: 'prefix-tree/write/runs', params: 2, conditions }
    const [orderKeys, markHeads, numberRuns, locateRuns] = await Promise.all([
      device.kernel({ ...common, entryPoint: 'order_keys', bindings: ['read', 'write'] }),
      device.kernel({ ...common, entryPoint: 'mark_heads', bindings: ['read', 'write'] }),
      device.kernel({ ...common, entryPoint: 'number_runs', bindings: ['read', 'write', 'write'] }),
      device.kernel({
        ...common,
        entryPoint: 'locate_runs',
        bindings: ['read', 'read', 'read', 'read', 'read', 'read', 'write', 'write'],
      }),
    ])
    return new RunFinder(primitives, shape, { orderKeys, markHeads, numberRuns, locateRuns })
  }

  record(
    recorder: Recorder,
    scratch: Scratch,
    arena: Arena,
    wireKeys: GPUBuffer,
    count: number,
    counts: GPUBuffer,
  ): Runs {
    const { keyWords, word } = this.#shape
    const { orderKeys, markHeads, numberRuns, locateRuns } = this.#kernels
    const ordered = scratch.words(count * keyWords)
    recorder.dispatch(orderKeys, [wireKeys, ordered], [count, word], count)
    const { keys, values: order } = this.#primitives.sort(
      recorder,
      scratch,
      ordered,
      undefined,
      count,
      keyWords,
    )

    const runsOf = scratch.words(count)
    const starts = scratch.words(count + 1)
    recorder.dispatch(markHeads, [keys, runsOf], [count, word], count)
    this.#primitives.scan(recorder, scratch, runsOf, runsOf, count, { buffer: counts, index: Count.runs })
    recorder.dispatch(numberRuns, [keys, runsOf, starts], [count, word], count)

    const places = scratch.words(2 * count)
    const residents = scratch.words(count)
    const buffers = [...arena.buffers, keys, starts, counts, places, residents]
    recorder.dispatch(locateRuns, buffers, [count, word], count)
    return { keys, order, runsOf, starts, places, residents }
  }
}
