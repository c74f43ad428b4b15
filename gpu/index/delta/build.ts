import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import { type Arena, headBuffers } from '../arena.js'
import { furtherBindings, type TreeShape } from '../layout.js'
import { Count } from '../write/counts.js'
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
   * @param heaps where keys of variable length lie, as `keyHeaps` gives them
   */
  record(
    recorder: Recorder,
    arena: Arena,
    count: number,
    firstNode: number,
    heaps: readonly GPUBuffer[],
  ): void
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
    heaps: readonly GPUBuffer[],
    arena: Arena | undefined,
  ): NodePlan
}

type Kernels = Readonly<Record<'countNodes' | 'hangEntries', Kernel>>

/** Builds over keys of fixed width. */
export class EntryBuilder implements Builder {
  readonly #primitives: Primitives
  readonly #kernels: Kernels

  private constructor(primitives: Primitives, kernels: Kernels) {
    this.#primitives = primitives
    this.#kernels = kernels
  }

  static async create(device: Device, primitives: Primitives, shape: TreeShape): Promise<EntryBuilder> {
    const common = {
      module: 'index/delta/build',
      params: 2,
      conditions: { ...shape.conditions, full: shape.full },
    }
    const [countNodes, hangEntries] = await Promise.all([
      device.kernel({
        ...common,
        entryPoint: 'count_nodes',
        bindings: ['read', 'read', 'read', 'write', 'write'],
      }),
      device.kernel({
        ...common,
        entryPoint: 'hang_entries',
        bindings: ['read', 'read', 'read', 'read', 'read', 'write'],
        further: furtherBindings(shape, 'written tree'),
      }),
    ])
    return new EntryBuilder(primitives, { countNodes, hangEntries })
  }

  plan(recorder: Recorder, scratch: Scratch, entries: Entries, counts: GPUBuffer): NodePlan {
    const { countNodes, hangEntries } = this.#kernels
    const { bound, keys, places } = entries
    const ranks = scratch.words(bound)
    const spans = scratch.words(bound)
    recorder.dispatch(countNodes, [keys, places, counts, ranks, spans], [bound, 0], bound)
    const total = { buffer: counts, index: Count.nodes }
    this.#primitives.scan(recorder, scratch, ranks, ranks, bound, total)
    return {
      record: (building, arena, count, firstNode) => {
        const inputs = [keys, entries.entries, ranks, spans]
        const buffers = [...inputs, places, arena.nodes.buffer, ...headBuffers(arena)]
        building.dispatch(hangEntries, buffers, [count, firstNode], count)
      },
    }
  }
}
