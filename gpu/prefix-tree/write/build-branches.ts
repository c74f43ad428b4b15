import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import { headBuffers } from '../arena.js'
import { furtherBindings, type TreeShape } from '../layout.js'
import type { Builder, NodePlan } from './build.js'
import { Count } from './counts.js'
import type { Entries } from './entries.js'

/** Places whose minimum is kept together; `build-branches.wesl` has the same number. */
const FAN = 16

type Kernels = Readonly<Record<'shareDigits' | 'raiseMinima' | 'findBranches' | 'hangEntries', Kernel>>

/** Builds over keys of variable length, with nodes only where they part. */
export class BranchBuilder implements Builder {
  readonly #primitives: Primitives
  readonly #kernels: Kernels

  private constructor(primitives: Primitives, kernels: Kernels) {
    this.#primitives = primitives
    this.#kernels = kernels
  }

  static async create(device: Device, primitives: Primitives, shape: TreeShape): Promise<BranchBuilder> {
    const { conditions } = shape
    const common = { module: 'prefix-tree/write/build-branches', params: 3, conditions }
    const further = furtherBindings(shape, 'keys')
    const [shareDigits, raiseMinima, findBranches, hangEntries] = await Promise.all([
      device.kernel({
        ...common,
        entryPoint: 'share_digits',
        bindings: ['read', 'read', 'read', 'write'],
        further,
      }),
      device.kernel({ ...common, entryPoint: 'raise_minima', bindings: ['write'] }),
      device.kernel({
        ...common,
        entryPoint: 'find_branches',
        bindings: ['read', 'write', 'write', 'write'],
      }),
      device.kernel({
        ...common,
        entryPoint: 'hang_entries',
        bindings: ['read', 'read', 'read', 'read', 'read', 'read', 'read', 'write', 'write'],
        further,
      }),
    ])
    return new BranchBuilder(primitives, { shareDigits, raiseMinima, findBranches, hangEntries })
  }

  plan(
    recorder: Recorder,
    scratch: Scratch,
    entries: Entries,
    counts: GPUBuffer,
    heaps: readonly GPUBuffer[],
  ): NodePlan {
    const { shareDigits, raiseMinima, findBranches, hangEntries } = this.#kernels
    const { bound, keys, places } = entries
    const shared = scratch.words(withMinima(bound))
    const [lefts, parents, ranks] = [scratch.words(bound), scratch.words(bound), scratch.words(bound)]
    recorder.dispatch(shareDigits, [keys, places, counts, shared, ...heaps], [bound, 0, 0], bound)
    let begin = 0
    for (let length = bound; length > FAN; length = Math.ceil(length / FAN)) {
      recorder.dispatch(raiseMinima, [shared], [bound, begin, length], Math.ceil(length / FAN))
      begin += length
    }
    recorder.dispatch(findBranches, [shared, lefts, parents, ranks], [bound, 0, 0], bound)
    const total = { buffer: counts, index: Count.nodes }
    this.#primitives.scan(recorder, scratch, ranks, ranks, bound, total)
    return {
      record: (building, arena, count, firstNode, heapsNow) => {
        const tree = [arena.nodes.buffer, ...headBuffers(arena), ...heapsNow]
        const buffers = [keys, entries.entries, places, shared, lefts, parents, ranks, ...tree]
        building.dispatch(hangEntries, buffers, [count, firstNode, 0], count)
      },
    }
  }
}

/** Words for a column and the minima above it. */
function withMinima(length: number): number {
  return length <= FAN ? length : length + withMinima(Math.ceil(length / FAN))
}
