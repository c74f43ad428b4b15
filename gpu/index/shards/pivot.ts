import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { IndexShape } from '../../index-structure.js'
import { furtherBindings, type TreeShape, treeShape } from '../layout.js'
import type { KeyColumn } from '../partitions/result-table.js'

const NONE = 0xffffffff

/** Finds a key that cuts a batch about in half (`pivot.wesl`). */
export class PivotFinder {
  readonly #device: Device
  readonly #shape: TreeShape
  readonly #kernel: Kernel

  private constructor(device: Device, shape: TreeShape, kernel: Kernel) {
    this.#device = device
    this.#shape = shape
    this.#kernel = kernel
  }

  static async create(device: Device, shape: IndexShape): Promise<PivotFinder> {
    const tree = treeShape(shape)
    const kernel = await device.kernel({
      module: 'index/shards/pivot',
      entryPoint: 'find_pivot',
      bindings: ['read', 'write'],
      further: furtherBindings(tree, 'keys'),
      params: 2,
      conditions: tree.conditions,
    })
    return new PivotFinder(device, tree, kernel)
  }

  /** Which of the keys it is; undefined where all keys of a sample are the same, or no numbers. */
  async find({ keys, heap }: KeyColumn, count: number): Promise<number | undefined> {
    const scratch = this.#device.scratch()
    try {
      const recorder = this.#device.record()
      const pivot = scratch.words(1)
      const heaps = heap === undefined ? [] : [scratch.words(1), heap]
      recorder.dispatchGroups(this.#kernel, [keys, pivot, ...heaps], [count, this.#shape.word], 1)
      recorder.submit()
      const [found] = await this.#device.readWords(pivot, 1)
      return found === NONE ? undefined : found
    } finally {
      scratch.release()
    }
  }
}
