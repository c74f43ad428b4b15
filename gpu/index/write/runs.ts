import type { Device, Kernels } from '../../device/device.js'
import type { Arena } from '../arena.js'
import type { BatchWork } from '../batch/work.js'
import type { TreeShape } from '../layout.js'
import type { Locator, TraversalPlan } from '../partitions/locator.js'

/** Groups the items of a sorted batch by key, and finds each key in the tree. */
export class RunFinder {
  readonly #kernels: Kernels<'mark_heads' | 'number_runs' | 'locate_runs'>
  /** Only where trees have partitions. */
  readonly #located: Kernels<'take_located'> | undefined
  readonly #locator: Locator | undefined

  constructor(device: Device, { conditions }: TreeShape, locator: Locator | undefined) {
    const module = 'index/write/runs'
    this.#kernels = device.kernels(module, ['mark_heads', 'number_runs', 'locate_runs'], conditions)
    this.#located = locator && device.kernels(module, ['take_located'], conditions)
    this.#locator = locator
  }

  /** @param plan how to find the runs' keys; one after the other down from the root without it */
  record(work: BatchWork, arena: Arena, plan: TraversalPlan | undefined): void {
    const kernels = this.#kernels
    const { count } = work
    work.words('runsOf')
    work.words('starts', count + 1)
    work.dispatch(kernels.mark_heads)
    work.scan('runsOf', 'runs')
    work.dispatch(kernels.number_runs)
    work.words('places', 2 * count)
    work.words('existing')
    if (plan === undefined || this.#located === undefined || this.#locator === undefined) {
      work.dispatch(kernels.locate_runs)
      return
    }
    const { recorder, scratch } = work
    const keys = { keys: work.column('keys'), heap: work.buffers.queryHeap }
    const { places, existing } = this.#locator.record(recorder, scratch, arena, plan, keys, {
      count,
      areOrdered: true,
    })
    Object.assign(work.buffers, { itemPlaces: places, itemTuples: existing })
    work.dispatch(this.#located.take_located)
  }
}
