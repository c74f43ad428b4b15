import { WarpdexError } from '../../../protocol/errors.js'
import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Arena } from '../arena.js'
import type { Plan, Runs } from '../batch/batch.js'
import type { TreeShape } from '../layout.js'

/** What the host knows of a batch once its need was read back. */
export interface LinkTotals {
  readonly runs: number
  readonly creates: number
  readonly removes: number
  readonly firstTuple: number
}

/** Keeps the links of tuples in key order (Volk §4.1), in trees that have them. */
export class OrderLinker {
  readonly #kernels: Kernels<'link_runs' | 'link_in_order'>

  constructor(device: Device, { conditions }: TreeShape) {
    this.#kernels = device.kernels('index/write/order-links', ['link_runs', 'link_in_order'], conditions)
  }

  /** Changes the links where a batch has created or removed tuples. The tree must be as the batch leaves it. */
  record(
    recorder: Recorder,
    arena: Arena,
    runs: Runs,
    plan: Plan,
    counts: GPUBuffer,
    totals: LinkTotals,
  ): void {
    if (totals.creates + totals.removes === 0) return
    // A batch numbers its tuples in key order, and the numbers of removed ones are not given again.
    if (totals.firstTuple === 0) {
      this.recordInOrder(recorder, arena, totals.creates)
      return
    }
    const buffers = {
      ...arena.bindings,
      queryHeap: runs.heap,
      orderLinks: arena.links?.buffer,
      keys: runs.keys,
      starts: runs.starts,
      actions: plan.actions,
      residents: runs.residents,
      counts,
    }
    recorder.dispatch(this.#kernels.link_runs, buffers, {}, totals.runs)
  }

  /** Links all tuples of a tree where their numbers are in key order. */
  recordInOrder(recorder: Recorder, { links }: Arena, tuples: number): void {
    if (links === undefined) throw new WarpdexError('INTERNAL', 'the tree has no links')
    recorder.dispatch(this.#kernels.link_in_order, { allLinks: links.buffer }, { tuples }, tuples)
  }
}
