import type { Device, Kernels } from '../../device/device.js'
import { GROUP_SIZE, type Recorder } from '../../device/recorder.js'
import type { Arena } from '../arena.js'
import type { Plan, Runs } from '../batch/batch.js'
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

  /** @param emptied a word more than there are tuples to remove */
  record(
    recorder: Recorder,
    arena: Arena,
    runs: Runs,
    plan: Plan,
    runCount: number,
    counts: GPUBuffer,
    emptied: GPUBuffer,
  ): void {
    const { sorted } = arena
    const sortedTuples = sorted?.tuples ?? 0
    if (sorted !== undefined) sorted.hasRemoved = true
    const buffers = {
      ...arena.bindings,
      queryHeap: runs.heap,
      keys: runs.keys,
      starts: runs.starts,
      residents: runs.residents,
      places: runs.places,
      actions: plan.actions,
      counts,
      emptied,
    }
    if (this.#variable !== undefined) {
      const { word, partitionLevels } = this.#shape
      const levels = typeof partitionLevels === 'number' ? partitionLevels : 0
      const params = { shape: word, levels, sorted: sortedTuples }
      recorder.dispatch(this.#variable.unlink_tuples, buffers, params, runCount)
    }
    if (this.#fixed === undefined) return
    const params = { level: 0, sorted: sortedTuples }
    recorder.dispatch(this.#fixed.unlink_runs, buffers, params, runCount)
    recorder.clear(emptied, 0, 4)
    recorder.dispatch(this.#fixed.list_emptied, buffers, params, runCount)
    const groups = Math.min(Math.ceil(runCount / GROUP_SIZE), PRUNING_GROUPS)
    for (let level = this.#shape.levels - 1; level > 0; level--) {
      recorder.dispatchGroups(this.#fixed.prune_level, buffers, { ...params, level }, groups)
    }
  }
}
