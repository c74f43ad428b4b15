import type { Device, Kernels } from '../../device/device.js'
import { Count } from '../batch/counts.js'
import type { BatchWork } from '../batch/work.js'
import type { TreeShape } from '../layout.js'

/** Keeps the links of tuples in key order (Volk §4.1), in trees that have them. */
export class OrderLinker {
  readonly #kernels: Kernels<'link_runs' | 'link_in_order'>

  constructor(device: Device, { conditions }: TreeShape) {
    this.#kernels = device.kernels('index/write/order-links', ['link_runs', 'link_in_order'], conditions)
  }

  /**
   * Changes the links where a batch has created or removed tuples. The tree must be as the batch leaves it.
   * @param totals the batch's counts
   */
  record(work: BatchWork, totals: Uint32Array): void {
    const creates = totals[Count.creates]!
    if (creates + totals[Count.removes]! === 0) return
    // A batch numbers its tuples in key order, and the numbers of removed ones are not given again.
    if (work.params.firstTuple === 0) this.recordInOrder(work, creates)
    else work.dispatch(this.#kernels.link_runs, totals[Count.runs])
  }

  /** Links all tuples of a tree where their numbers are in key order. */
  recordInOrder(work: BatchWork, tuples: number): void {
    work.dispatch(this.#kernels.link_in_order, tuples, { count: tuples })
  }
}
