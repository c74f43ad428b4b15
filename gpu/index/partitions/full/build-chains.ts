import type { Device } from '../../../device/device.js'
import type { Kernel } from '../../../device/kernel.js'
import type { Recorder } from '../../../device/recorder.js'
import type { Scratch } from '../../../memory/scratch.js'
import type { Primitives } from '../../../primitives/primitives.js'
import { headBuffers } from '../../arena.js'
import type { Builder, NodePlan } from '../../delta/build.js'
import type { Entries } from '../../delta/entries.js'
import { Neighbours } from '../../delta/neighbours.js'
import { furtherBindings, type TreeShape } from '../../layout.js'
import { Count } from '../../write/counts.js'

type Kernels = Readonly<Record<'countChains' | 'hangChains', Kernel>>

/** Builds `full` trees over keys of variable length, with a node for every digit of every key. */
export class ChainBuilder implements Builder {
  readonly #primitives: Primitives
  readonly #neighbours: Neighbours
  readonly #kernels: Kernels

  private constructor(primitives: Primitives, neighbours: Neighbours, kernels: Kernels) {
    this.#primitives = primitives
    this.#neighbours = neighbours
    this.#kernels = kernels
  }

  static async create(device: Device, primitives: Primitives, shape: TreeShape): Promise<ChainBuilder> {
    const { conditions } = shape
    const common = {
      module: 'index/partitions/full/build-chains',
      params: 2,
      conditions,
      further: furtherBindings(shape, 'keys'),
    }
    const [neighbours, countChains, hangChains] = await Promise.all([
      Neighbours.create(device, shape),
      device.kernel({
        ...common,
        entryPoint: 'count_chains',
        bindings: ['read', 'read', 'read', 'read', 'write', 'write'],
      }),
      device.kernel({
        ...common,
        entryPoint: 'hang_chains',
        bindings: ['read', 'read', 'read', 'read', 'read', 'read', 'write', 'write'],
      }),
    ])
    return new ChainBuilder(primitives, neighbours, { countChains, hangChains })
  }

  plan(
    recorder: Recorder,
    scratch: Scratch,
    entries: Entries,
    counts: GPUBuffer,
    heaps: readonly GPUBuffer[],
  ): NodePlan {
    const { countChains, hangChains } = this.#kernels
    const { bound, keys, places } = entries
    const shared = this.#neighbours.record(recorder, scratch, entries, counts, heaps)
    const [ranks, owners] = [scratch.words(bound), scratch.words(bound)]
    const counted = [shared, keys, places, counts, ranks, owners, ...heaps]
    recorder.dispatch(countChains, counted, [bound, 0], bound)
    const total = { buffer: counts, index: Count.nodes }
    this.#primitives.scan(recorder, scratch, ranks, ranks, bound, total)
    return {
      record: (building, arena, count, firstNode, heapsNow) => {
        const tree = [arena.nodes.buffer, ...headBuffers(arena), ...heapsNow]
        const buffers = [shared, keys, places, entries.entries, ranks, owners, ...tree]
        building.dispatch(hangChains, buffers, [count, firstNode], count)
      },
    }
  }
}
