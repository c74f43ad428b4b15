import type { Device, Kernels } from '../../device/device.js'
import type { IndexShape } from '../../index-structure.js'
import type { KeyColumn } from '../../keys/key-column.js'
import { type TreeShape, treeShape } from '../layout.js'

const NONE = 0xffffffff

/** Finds a key that cuts a batch about in half (`pivot.wesl`). */
export class PivotFinder {
  readonly #device: Device
  readonly #shape: TreeShape
  readonly #kernels: Kernels<'find_pivot'>

  constructor(device: Device, shape: IndexShape) {
    this.#device = device
    this.#shape = treeShape(shape)
    this.#kernels = device.kernels('index/shards/pivot', ['find_pivot'], this.#shape.conditions)
  }

  /** Which of the keys it is; undefined where all keys of a sample are the same, or no numbers. */
  async find({ keys, heap }: KeyColumn, count: number): Promise<number | undefined> {
    return this.#device.withScratch(async (scratch) => {
      const recorder = this.#device.record()
      const pivot = scratch.words(1)
      // No key of an index is looked at.
      const buffers = { keys, pivot, heap: scratch.words(1), queryHeap: heap }
      recorder.dispatchGroups(this.#kernels.find_pivot, buffers, { count, shape: this.#shape.word }, 1)
      recorder.submit()
      const [found] = await this.#device.readWords(pivot, 1)
      return found === NONE ? undefined : found
    })
  }
}
