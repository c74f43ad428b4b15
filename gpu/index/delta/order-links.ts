import { WarpdexError } from '../../../protocol/errors.js'
import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import { type Arena, orderedTreeBuffers } from '../arena.js'
import { furtherBindings, type TreeShape } from '../layout.js'
import type { Plan } from '../write/plan.js'
import type { Runs } from '../write/runs.js'

/** What the host knows of a batch once its need was read back. */
export interface LinkTotals {
  readonly runs: number
  readonly creates: number
  readonly removes: number
  readonly firstTuple: number
}

/** Keeps the links of tuples in key order (Volk §4.1), in trees that have them. */
export class OrderLinker {
  readonly #linkRuns: Kernel
  readonly #linkInOrder: Kernel

  private constructor(linkRuns: Kernel, linkInOrder: Kernel) {
    this.#linkRuns = linkRuns
    this.#linkInOrder = linkInOrder
  }

  static async create(device: Device, shape: TreeShape): Promise<OrderLinker> {
    const common = { module: 'index/delta/order-links', params: 1, conditions: shape.conditions }
    const [linkRuns, linkInOrder] = await Promise.all([
      device.kernel({
        ...common,
        entryPoint: 'link_runs',
        bindings: ['read', 'read', 'read', 'read', 'read', 'read', 'read'],
        further: furtherBindings(shape, 'tree and written links'),
      }),
      device.kernel({ ...common, entryPoint: 'link_in_order', bindings: ['write'] }),
    ])
    return new OrderLinker(linkRuns, linkInOrder)
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
    const batch = [runs.keys, runs.starts, plan.actions, runs.residents, counts]
    const tree = [arena.nodes.buffer, arena.tuples.buffer]
    const buffers = [...tree, ...batch, ...orderedTreeBuffers(arena, runs.heap)]
    recorder.dispatch(this.#linkRuns, buffers, [0], totals.runs)
  }

  /** Links all tuples of a tree where their numbers are in key order. */
  recordInOrder(recorder: Recorder, { links }: Arena, tuples: number): void {
    if (links === undefined) throw new WarpdexError('INTERNAL', 'the tree has no links')
    recorder.dispatch(this.#linkInOrder, [links.buffer], [tuples], tuples)
  }
}
