import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { KeyHeaps } from '../arena.js'
import { Count } from '../batch/counts.js'
import type { TreeShape } from '../layout.js'
import type { Builder, NodePlan } from './build.js'
import type { Entries } from './entries.js'
import { Neighbours } from './neighbours.js'

/** Builds over keys of variable length, with nodes only where they part. */
export class BranchBuilder implements Builder {
  readonly #primitives: Primitives
  readonly #neighbours: Neighbours
  readonly #kernels: Kernels<'find_branches' | 'hang_entries'>

  constructor(device: Device, primitives: Primitives, { conditions }: TreeShape) {
    const entryPoints = ['find_branches', 'hang_entries'] as const
    this.#primitives = primitives
    this.#neighbours = new Neighbours(device, conditions)
    this.#kernels = device.kernels('index/delta/build-branches', entryPoints, conditions)
  }

  plan(recorder: Recorder, scratch: Scratch, entries: Entries, counts: GPUBuffer, heaps: KeyHeaps): NodePlan {
    const kernels = this.#kernels
    const { bound, keys, places } = entries
    const shared = this.#neighbours.record(recorder, scratch, entries, counts, heaps)
    const [lefts, parents, ranks] = [scratch.words(bound), scratch.words(bound), scratch.words(bound)]
    const found = { digitsShared: shared, lefts, parents, branchAt: ranks }
    recorder.dispatch(kernels.find_branches, found, { count: bound }, bound)
    const total = { buffer: counts, index: Count.nodes }
    this.#primitives.scan(recorder, scratch, ranks, ranks, bound, total)
    return {
      record: (building, arena, count, firstNode, heapsNow) => {
        const buffers = {
          ...arena.bindings,
          ...heapsNow,
          entryKeys: keys,
          entries: entries.entries,
          entrySlots: places,
          depths: shared,
          leftPlaces: lefts,
          above: parents,
          ranks,
        }
        building.dispatch(kernels.hang_entries, buffers, { count, firstNode }, count)
      },
    }
  }
}
