import type { Device, Kernels } from '../../device/device.js'
import { Count } from '../batch/counts.js'
import type { BatchWork } from '../batch/work.js'
import { newTupleConditions, type TreeShape } from '../layout.js'

/** Lists that take a workgroup each are moved by this many workgroups at most, one list after the other. */
const LONG_MOVE_GROUPS = 512

/** Creates tuples and puts payloads where the plan says. */
export class PayloadWriter {
  readonly #unique: boolean
  readonly #kernels: Kernels<'apply_runs' | 'move_long' | 'write_items' | 'finish_runs'>
  /** For batches in which every run creates a tuple with a single payload; only where keys have a fixed width. */
  readonly #newTuples: Kernels<'write_new_tuples'> | undefined

  constructor(device: Device, shape: TreeShape, payloadBytes: number, unique: boolean) {
    const { conditions, form } = shape
    const entryPoints = ['apply_runs', 'move_long', 'write_items', 'finish_runs'] as const
    this.#unique = unique
    this.#kernels = device.kernels('index/write/payloads', entryPoints, conditions)
    if (form !== undefined) return
    const writing = newTupleConditions(shape, payloadBytes)
    this.#newTuples = device.kernels('index/write/new-tuples', ['write_new_tuples'], writing)
  }

  /**
   * @param totals the batch's counts
   * @param firstExtent where the new extents lie
   */
  record(work: BatchWork, totals: Uint32Array, firstExtent: number): void {
    const kernels = this.#kernels
    const runs = totals[Count.runs]!
    const extentWords = totals[Count.extentWords]!
    const areNew = totals[Count.creates] === runs && extentWords === 0
    if (areNew && this.#newTuples !== undefined) {
      work.dispatch(this.#newTuples.write_new_tuples, runs, { ...work.params, count: runs })
      return
    }
    Object.assign(work.params, { firstExtent, extentWords })
    work.dispatch(kernels.apply_runs, runs)
    work.dispatchGroups(kernels.move_long, Math.min(totals[Count.longMoves]!, LONG_MOVE_GROUPS))
    work.dispatch(kernels.write_items)
    if (!this.#unique) work.dispatch(kernels.finish_runs, runs)
  }
}
