import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { TreeShape } from '../layout.js'
import { Count } from './counts.js'
import type { Entries } from './entries.js'

/** Which nodes entries need. */
export interface NodePlan {
  /** New nodes before each entry's own. */
  readonly ranks: GPUBuffer
  /** Depths between which each entry's path is new. */
  readonly spans: GPUBuffer
}

type Kernels = Readonly<Record<'countNodes' | 'buildLevel', Kernel>>

/** Builds the part of the tree under which entries hang. */
export class Builder {
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #kernels: Kernels

  private constructor(primitives: Primitives, shape: TreeShape, kernels: Kernels) {
    this.#primitives = primitives
    this.#shape = shape
    this.#kernels = kernels
  }

  static async create(device: Device, primitives: Primitives, shape: TreeShape): Promise<Builder> {
    const common = {
      module: 'prefix-tree/write/build',
      params: 3,
      conditions: { wide: shape.keyWords === 2 },
    }
    const [countNodes, buildLevel] = await Promise.all([
      device.kernel({
        ...common,
        entryPoint: 'count_nodes',
        bindings: ['read', 'read', 'read', 'write', 'write'],
      }),
      device.kernel({
        ...common,
        entryPoint: 'build_level',
        bindings: ['read', 'read', 'read', 'read', 'write', 'write'],
      }),
    ])
    return new Builder(primitives, shape, { countNodes, buildLevel })
  }

  /** Counts the nodes into `counts`. */
  recordCount(recorder: Recorder, scratch: Scratch, entries: Entries, counts: GPUBuffer): NodePlan {
    const ranks = scratch.words(entries.bound)
    const spans = scratch.words(entries.bound)
    const buffers = [entries.keys, entries.slots, counts, ranks, spans]
    recorder.dispatch(this.#kernels.countNodes, buffers, [entries.bound, 0, 0], entries.bound)
    this.#primitives.scan(recorder, scratch, ranks, ranks, entries.bound, {
      buffer: counts,
      index: Count.nodes,
    })
    return { ranks, spans }
  }

  /** Writes the nodes, the first of which has the number `firstNode`, and hangs `count` entries under them. */
  recordBuild(
    recorder: Recorder,
    nodes: GPUBuffer,
    entries: Entries,
    plan: NodePlan,
    count: number,
    firstNode: number,
  ): void {
    const buffers = [entries.keys, entries.tuples, plan.ranks, plan.spans, entries.slots, nodes]
    for (let level = 0; level < this.#shape.levels; level++) {
      recorder.dispatch(this.#kernels.buildLevel, buffers, [count, level, firstNode], count)
    }
  }
}
