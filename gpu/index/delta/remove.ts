import type { Device, Kernels } from '../../device/device.js'
import { GROUP_SIZE } from '../../device/recorder.js'
import type { Arena } from '../arena.js'
import type { BatchWork } from '../batch/work.js'
import type { TreeShape } from '../layout.js'

/** Workgroups that go through the runs whose nodes were emptied, at most: they are few. */
const PRUNING_GROUPS = 512

/** Takes tuples without payloads out of the tree, and the nodes that this empties. */
export class Remover {
  readonly #shape: TreeShape
  /** Over keys of fixed width. */
  readonly #fixed: Kernels<'unlink_runs' | 'list_emptied' | 'prune_level'> | undefined
  /** Over keys of variable length. */
  readonly #variable: Kernels<'unlink_tuples'> | undefined

  constructor(device: Device, shape: TreeShape) {
    const { conditions, form } = shape
    this.#shape = shape
    if (form === undefined) {
      const entryPoints = ['unlink_runs', 'list_emptied', 'prune_level'] as const
      this.#fixed = device.kernels('index/delta/remove', entryPoints, conditions)
    } else {
      this.#variable = device.kernels('index/delta/unlink', ['unlink_tuples'], conditions)
    }
  }

  /** @param runs how many runs the batch has; `emptied` has a word more than tuples go */
  record(work: BatchWork, { sorted }: Arena, runs: number): void {
    const { partitionLevels, levels } = this.#shape
    if (sorted !== undefined) sorted.hasRemoved = true
    Object.assign(work.params, { sorted: sorted?.tuples ?? 0, level: 0 })
    if (this.#variable !== undefined) {
      const partition = typeof partitionLevels === 'number' ? partitionLevels : 0
      work.dispatch(this.#variable.unlink_tuples, runs, { ...work.params, partitionLevels: partition })
    }
    if (this.#fixed === undefined) return
    work.dispatch(this.#fixed.unlink_runs, runs)
    work.recorder.clear(work.column('emptied'), 0, 4)
    work.dispatch(this.#fixed.list_emptied, runs)
    const groups = Math.min(Math.ceil(runs / GROUP_SIZE), PRUNING_GROUPS)
    for (let level = levels - 1; level > 0; level--) {
      work.params.level = level
      work.dispatchGroups(this.#fixed.prune_level, groups)
    }
  }
}
