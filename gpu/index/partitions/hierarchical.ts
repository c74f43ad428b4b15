import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import { type Arena, treeBuffers } from '../arena.js'
import { furtherBindings, type TreeShape } from '../layout.js'
import type { PartitionLists, PartitionTable } from './partitions.js'
import type { Piece } from './result-table.js'

/** Fills the table of intermediate results with what is left of every block's (Volk §3.2). */
export class Hierarchical {
  readonly #kernel: Kernel

  private constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  static async create(device: Device, shape: TreeShape): Promise<Hierarchical> {
    const kernel = await device.kernel({
      module: 'index/partitions/hierarchical',
      entryPoint: 'traverse_blocks',
      bindings: ['read'],
      further: [
        ...[3, 4, 5, 6, 7, 8, 9].map((binding) => [binding, 'read'] as const),
        [10, 'write'],
        ...furtherBindings(shape, 'tree'),
      ],
      params: 6,
      conditions: shape.conditions,
    })
    return new Hierarchical(kernel)
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
    const inputs = [arena.nodes.buffer, queries.keys, roots.buffer, numbers.buffer]
    const lists = [byBlock, positions, predecessors, blocks]
    const buffers = [...inputs, ...lists, results, ...treeBuffers(arena, queries.heap)]
    const groups = length * blockCount
    recorder.dispatchGroups(this.#kernel, buffers, [groups, first, blockCount, count, levels, word], groups)
  }
}
