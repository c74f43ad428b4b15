import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import type { PartitionLists, PartitionTable } from './partitions.js'
import type { Piece } from './result-table.js'

/** Fills the table of intermediate results with what is left of every block's (Volk §3.2). */
export class Hierarchical {
  readonly #kernels: Kernels<'traverse_blocks'>

  constructor(device: Device, { conditions }: TreeShape) {
    this.#kernels = device.kernels('index/partitions/hierarchical', ['traverse_blocks'], conditions)
  }

  record(
    recorder: Recorder,
    arena: Arena,
    { count, levels, roots, numbers }: PartitionTable,
    { byBlock, positions, predecessors, blocks, blockCount }: PartitionLists,
    { queries, word, first, length, results }: Piece,
  ): void {
    // Results that no block hands on must not be taken for any.
    recorder.clear(results, 0, 4 * length * count)
    const buffers = {
      ...arena.bindings,
      queries: queries.keys,
      queryHeap: queries.heap,
      roots: roots.buffer,
      numbers: numbers.buffer,
      byBlock,
      positions,
      predecessors,
      blocks,
      results,
    }
    const groups = length * blockCount
    const params = { groups, first, blocks: blockCount, partitions: count, levels, shape: word }
    recorder.dispatchGroups(this.#kernels.traverse_blocks, buffers, params, groups)
  }
}
