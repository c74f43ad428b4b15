import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import { GROUP_SIZE, type Recorder } from '../../device/recorder.js'
import { type Arena, treeBuffers } from '../arena.js'
import { furtherBindings, type TreeShape } from '../layout.js'
import type { Plan } from '../write/plan.js'
import type { Runs } from '../write/runs.js'

type Kernels =
  | Readonly<Record<'unlinkRuns' | 'listEmptied' | 'pruneLevel', Kernel>>
  /** Of trees over keys of variable length. */
  | Readonly<Record<'unlinkTuples', Kernel>>

/** Workgroups that go through the runs whose nodes were emptied, at most: they are few. */
const PRUNING_GROUPS = 512

/** Takes tuples without payloads out of the tree, and the nodes that this empties. */
export class Remover {
  readonly #shape: TreeShape
  readonly #kernels: Kernels

  private constructor(shape: TreeShape, kernels: Kernels) {
    this.#shape = shape
    this.#kernels = kernels
  }

  static async create(device: Device, shape: TreeShape): Promise<Remover> {
    const { conditions } = shape
    if (shape.form !== undefined) {
      const unlinkTuples = await device.kernel({
        module: 'index/delta/unlink',
        entryPoint: 'unlink_tuples',
        bindings: ['write', 'write', 'read', 'read', 'read', 'read', 'read'],
        further: furtherBindings(shape, 'written tree'),
        params: 3,
        conditions,
      })
      return new Remover(shape, { unlinkTuples })
    }
    const common = { module: 'index/delta/remove', params: 2, conditions }
    const [unlinkRuns, listEmptied, pruneLevel] = await Promise.all([
      device.kernel({
        ...common,
        entryPoint: 'unlink_runs',
        bindings: ['write', 'read', 'read', 'read', 'read', 'read', 'write'],
        further: conditions.css ? [[7, 'write']] : [],
      }),
      device.kernel({
        ...common,
        entryPoint: 'list_emptied',
        bindings: ['read'],
        further: [
          [3, 'read'],
          [4, 'read'],
          [5, 'read'],
          [6, 'write'],
          [8, 'write'],
        ],
      }),
      device.kernel({
        ...common,
        entryPoint: 'prune_level',
        bindings: ['write', 'read', 'read'],
        further: [
          [6, 'write'],
          [8, 'write'],
        ],
      }),
    ])
    return new Remover(shape, { unlinkRuns, listEmptied, pruneLevel })
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
    const kernels = this.#kernels
    const { sorted } = arena
    const sortedTuples = sorted?.tuples ?? 0
    if (sorted !== undefined) sorted.hasRemoved = true
    if ('unlinkTuples' in kernels) {
      const tree = [arena.nodes.buffer, arena.tuples.buffer]
      const batch = [runs.keys, runs.starts, runs.residents, plan.actions, counts]
      const buffers = [...tree, ...batch, ...treeBuffers(arena, runs.heap)]
      const { word, partitionLevels } = this.#shape
      const levels = typeof partitionLevels === 'number' ? partitionLevels : 0
      recorder.dispatch(kernels.unlinkTuples, buffers, [word, levels, sortedTuples], runCount)
      return
    }
    const { nodes } = arena
    const batch = [plan.actions, counts, runs.residents, runs.places]
    const removed = sorted?.removed === undefined ? [] : [sorted.removed.buffer]
    const path = [nodes.buffer, runs.keys, runs.starts]
    recorder.dispatch(kernels.unlinkRuns, [...path, ...batch, ...removed], [0, sortedTuples], runCount)
    recorder.clear(emptied, 0, 4)
    recorder.dispatch(kernels.listEmptied, [nodes.buffer, ...batch, emptied], [0, sortedTuples], runCount)
    const groups = Math.min(Math.ceil(runCount / GROUP_SIZE), PRUNING_GROUPS)
    for (let level = this.#shape.levels - 1; level > 0; level--) {
      const buffers = [...path, runs.places, emptied]
      recorder.dispatchGroups(kernels.pruneLevel, buffers, [level, sortedTuples], groups)
    }
  }
}
