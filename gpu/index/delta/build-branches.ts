import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import { headBuffers } from '../arena.js'
import { furtherBindings, type TreeShape } from '../layout.js'
import { Count } from '../write/counts.js'
import type { Builder, NodePlan } from './build.js'
import type { Entries } from './entries.js'
import { Neighbours } from './neighbours.js'

type Kernels = Readonly<Record<'findBranches' | 'hangEntries', Kernel>>

/** Builds over keys of variable length, with nodes only where they part. */
export class BranchBuilder implements Builder {
  readonly #primitives: Primitives
  readonly #neighbours: Neighbours
  readonly #kernels: Kernels

  private constructor(primitives: Primitives, neighbours: Neighbours, kernels: Kernels) {
    this.#primitives = primitives
    this.#neighbours = neighbours
    this.#kernels = kernels
  }

  static async create(device: Device, primitives: Primitives, shape: TreeShape): Promise<BranchBuilder> {
    const { conditions } = shape
    const common = { module: 'index/delta/build-branches', params: 2, conditions }
    const [neighbours, findBranches, hangEntries] = await Promise.all([
      Neighbours.create(device, shape),
      device.kernel({
        ...common,
        entryPoint: 'find_branches',
        bindings: ['read', 'write', 'write', 'write'],
      }),
      device.kernel({
        ...common,
        entryPoint: 'hang_entries',
        bindings: ['read', 'read', 'read', 'read', 'read', 'read', 'read', 'write', 'write'],
        further: furtherBindings(shape, 'keys'),
      }),
    ])
    return new BranchBuilder(primitives, neighbours, { findBranches, hangEntries })
  }

  plan(
    recorder: Recorder,
    scratch: Scratch,
    entries: Entries,
    counts: GPUBuffer,
    heaps: readonly GPUBuffer[],
  ): NodePlan {
    const { findBranches, hangEntries } = this.#kernels
    const { bound, keys, places } = entries
    const shared = this.#neighbours.record(recorder, scratch, entries, counts, heaps)
    const [lefts, parents, ranks] = [scratch.words(bound), scratch.words(bound), scratch.words(bound)]
    recorder.dispatch(findBranches, [shared, lefts, parents, ranks], [bound, 0], bound)
    const total = { buffer: counts, index: Count.nodes }
    this.#primitives.scan(recorder, scratch, ranks, ranks, bound, total)
    return {
      record: (building, arena, count, firstNode, heapsNow) => {
        const tree = [arena.nodes.buffer, ...headBuffers(arena), ...heapsNow]
        const buffers = [keys, entries.entries, places, shared, lefts, parents, ranks, ...tree]
        building.dispatch(hangEntries, buffers, [count, firstNode], count)
      },
    }
  }
}
