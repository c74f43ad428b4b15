import type { Device, Kernels } from '../../device/device.js'
import type { BatchWork } from '../batch/work.js'
import type { TreeShape } from '../layout.js'

/**
 * Decides what becomes of each run's tuple and payloads (`actions`), and counts the tuples that are created before each run
 * (`createRanks`), and the words of new extents (`extentOffsets`).
 */
export class Planner {
  readonly #unique: boolean
  readonly #kernels: Kernels<'plan_runs'>

  constructor(device: Device, shape: TreeShape, unique: boolean) {
    const conditions = { ...shape.conditions, serial: device.facts.software }
    this.#unique = unique
    this.#kernels = device.kernels('index/write/plan', ['plan_runs'], conditions)
  }

  record(work: BatchWork): void {
    work.words('createRanks', work.count + 1)
    for (const name of ['extentOffsets', 'actions', 'longMoves']) work.words(name)
    work.dispatch(this.#kernels.plan_runs)
    work.scanWithTotal('createRanks', 'creates')
    if (!this.#unique) work.scan('extentOffsets', 'extentWords')
  }
}
