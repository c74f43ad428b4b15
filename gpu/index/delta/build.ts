import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena, KeyHeaps } from '../arena.js'
import { Count } from '../batch/counts.js'
import type { TreeShape } from '../layout.js'
import type { Entries } from './entries.js'

/** The nodes that entries need, counted and not yet written. */
export interface NodePlan {
  /**
   * Brings the count to its end, where that takes the host: once what `plan` recorded is submitted, and before the counts are read.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  readonly complete?: () => Promise<void>
  /**
   * Writes the nodes, the first of which has the number `firstNode`, and hangs `count` entries under them.
   * @param heaps where the entries' keys lie
   */
  record(recorder: Recorder, arena: Arena, count: number, firstNode: number, heaps: KeyHeaps): void
}

/** Builds the part of the tree under which entries hang. */
export interface Builder {
  /**
   * Counts the nodes into `counts`.
   * @param arena the tree that the entries are for; undefined for one that is empty
   */
  plan(
    recorder: Recorder,
    scratch: Scratch,
    entries: Entries,
    counts: GPUBuffer,
    heaps: KeyHeaps,
    arena: Arena | undefined,
  ): NodePlan
}

/** Builds over keys of fixed width. */
export class EntryBuilder implements Builder {
  readonly #primitives: Primitives
  readonly #kernels: Kernels<'count_nodes' | 'hang_entries'>

  constructor(device: Device, primitives: Primitives, { conditions, full }: TreeShape) {
    const entryPoints = ['count_nodes', 'hang_entries'] as const
    this.#primitives = primitives
    this.#kernels = device.kernels('index/delta/build', entryPoints, { ...conditions, full })
  }

  plan(recorder: Recorder, scratch: Scratch, entries: Entries, counts: GPUBuffer): NodePlan {
    const kernels = this.#kernels
    const { bound, keys, places } = entries
    const ranks = scratch.words(bound)
    const spans = scratch.words(bound)
    const counted = { keys, places, counts, nodeAt: ranks, spans }
    recorder.dispatch(kernels.count_nodes, counted, { count: bound }, bound)
    const total = { buffer: counts, index: Count.nodes }
    this.#primitives.scan(recorder, scratch, ranks, ranks, bound, total)
    return {
      record: (building, arena, count, firstNode) => {
        const buffers = {
          ...arena.bindings,
          entryKeys: keys,
          entryTuples: entries.entries,
          nodeRanks: ranks,
          entrySpans: spans,
          entrySlots: places,
        }
        building.dispatch(kernels.hang_entries, buffers, { count, firstNode }, count)
      },
    }
  }
}
