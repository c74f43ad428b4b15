import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import { type Arena, treeBuffers } from '../arena.js'
import { furtherBindings, type TreeShape } from '../layout.js'
import type { Plan } from './plan.js'
import type { Runs } from './runs.js'

type Kernels =
  | Readonly<Record<'unlinkRuns' | 'pruneLevel', Kernel>>
  /** Of trees over keys of variable length. */
  | Readonly<Record<'unlinkTuples', Kernel>>

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
        module: 'prefix-tree/write/unlink',
        entryPoint: 'unlink_tuples',
        bindings: ['write', 'write', 'read', 'read', 'read', 'read', 'read'],
        further: furtherBindings(shape, 'written tree'),
        params: 3,
        conditions,
      })
      return new Remover(shape, { unlinkTuples })
    }
    const common = {
      module: 'prefix-tree/write/remove',
      bindings: [
        ...(['write', 'read', 'read', 'read', 'read', 'read'] as const),
        ...(conditions.css ? (['write'] as const) : []),
      ],
      params: 2,
      conditions,
    }
    const [unlinkRuns, pruneLevel] = await Promise.all([
      device.kernel({ ...common, entryPoint: 'unlink_runs' }),
      device.kernel({ ...common, entryPoint: 'prune_level' }),
    ])
    return new Remover(shape, { unlinkRuns, pruneLevel })
  }

  record(
    recorder: Recorder,
    arena: Arena,
    runs: Runs,
    plan: Plan,
    runCount: number,
    counts: GPUBuffer,
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
    const batch = [runs.keys, runs.starts, plan.actions, counts, runs.residents]
    const removed = sorted?.removed === undefined ? [] : [sorted.removed.buffer]
    const buffers = [arena.nodes.buffer, ...batch, ...removed]
    recorder.dispatch(kernels.unlinkRuns, buffers, [0, sortedTuples], runCount)
    for (let level = this.#shape.levels - 1; level > 0; level--) {
      recorder.dispatch(kernels.pruneLevel, buffers, [level, sortedTuples], runCount)
    }
  }
}
