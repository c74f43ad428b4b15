import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import type { Plan } from './plan.js'
import type { Runs } from './runs.js'

type Kernels = Readonly<Record<'unlinkRuns' | 'pruneLevel', Kernel>>

/** Takes tuples without payloads out of the tree, and the nodes that this empties. */
export class Remover {
  readonly #shape: TreeShape
  readonly #kernels: Kernels

  private constructor(shape: TreeShape, kernels: Kernels) {
    this.#shape = shape
    this.#kernels = kernels
  }

  static async create(device: Device, shape: TreeShape): Promise<Remover> {
    const common = {
      module: 'prefix-tree/write/remove',
      bindings: ['write', 'read', 'read', 'read', 'read'] as const,
      params: 1,
      conditions: { wide: shape.keyWords === 2 },
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
    const buffers = [arena.nodes.buffer, runs.keys, runs.starts, plan.actions, counts]
    recorder.dispatch(this.#kernels.unlinkRuns, buffers, [0], runCount)
    for (let level = this.#shape.levels - 1; level > 0; level--) {
      recorder.dispatch(this.#kernels.pruneLevel, buffers, [level], runCount)
    }
  }
}
