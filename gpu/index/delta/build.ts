import type { Device, Kernels } from '../../device/device.js'
import type { Arena } from '../arena.js'
import type { BatchWork } from '../batch/work.js'
import type { TreeShape } from '../layout.js'

/** Builds the part of the tree under which entries hang. */
export interface Builder {
  /**
   * Counts the nodes that the entries of a batch need.
   * @param bound upper bound of the entries' number
   * @param arena the tree that the entries are for; undefined for one that is empty
   * @returns brings the count to its end, where that takes the host: once what was recorded is submitted, and before the counts are read. It
   * throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  plan(work: BatchWork, bound: number, arena: Arena | undefined): (() => Promise<void>) | undefined
  /** Writes the nodes, the first of which has the number `firstNode`, and hangs `count` entries under them. */
  record(work: BatchWork, arena: Arena, count: number, firstNode: number): void
}

/** Builds over keys of fixed width. */
export class EntryBuilder implements Builder {
  readonly #kernels: Kernels<'count_nodes' | 'hang_entries'>

  constructor(device: Device, { conditions, full }: TreeShape) {
    const entryPoints = ['count_nodes', 'hang_entries'] as const
    this.#kernels = device.kernels('index/delta/build', entryPoints, { ...conditions, full })
  }

  plan(work: BatchWork, bound: number): undefined {
    work.words('nodeRanks', bound)
    work.words('entrySpans', bound)
    work.dispatch(this.#kernels.count_nodes, bound, { count: bound })
    work.scan('nodeRanks', 'nodes', bound)
  }

  record(work: BatchWork, _arena: Arena, count: number, firstNode: number): void {
    work.dispatch(this.#kernels.hang_entries, count, { count, firstNode })
  }
}
