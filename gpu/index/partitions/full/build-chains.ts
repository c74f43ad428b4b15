import type { Device, Kernels } from '../../../device/device.js'
import type { Recorder } from '../../../device/recorder.js'
import type { Scratch } from '../../../memory/scratch.js'
import type { Primitives } from '../../../primitives/primitives.js'
import type { KeyHeaps } from '../../arena.js'
import { Count } from '../../batch/counts.js'
import type { Builder, NodePlan } from '../../delta/build.js'
import type { Entries } from '../../delta/entries.js'
import { Neighbours } from '../../delta/neighbours.js'
import type { TreeShape } from '../../layout.js'

/** Builds `full` trees over keys of variable length, with a node for every digit of every key. */
export class ChainBuilder implements Builder {
  readonly #primitives: Primitives
  readonly #neighbours: Neighbours
  readonly #kernels: Kernels<'count_chains' | 'hang_chains'>

  constructor(device: Device, primitives: Primitives, { conditions }: TreeShape) {
    const module = 'index/partitions/full/build-chains'
    this.#primitives = primitives
    this.#neighbours = new Neighbours(device, conditions)
    this.#kernels = device.kernels(module, ['count_chains', 'hang_chains'], conditions)
  }

  plan(recorder: Recorder, scratch: Scratch, entries: Entries, counts: GPUBuffer, heaps: KeyHeaps): NodePlan {
    const kernels = this.#kernels
    const { bound, keys, places } = entries
    const shared = this.#neighbours.record(recorder, scratch, entries, counts, heaps)
    const [ranks, owners] = [scratch.words(bound), scratch.words(bound)]
    const common = { digitsShared: shared, keys, places, counts, ...heaps }
    const counted = { ...common, chainAt: ranks, owners }
    recorder.dispatch(kernels.count_chains, counted, { count: bound }, bound)
    const total = { buffer: counts, index: Count.nodes }
    this.#primitives.scan(recorder, scratch, ranks, ranks, bound, total)
    return {
      record: (building, arena, count, firstNode, heapsNow) => {
        const hung = { entries: entries.entries, ranks, ownersIn: owners }
        const buffers = { ...common, ...arena.bindings, ...heapsNow, ...hung }
        building.dispatch(kernels.hang_chains, buffers, { count, firstNode }, count)
      },
    }
  }
}
