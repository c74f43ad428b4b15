import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import { type Arena, treeBuffers } from '../arena.js'
import { furtherBindings, type TreeShape } from '../layout.js'
import type { PartitionLists, PartitionTable } from './partitions.js'
import type { Piece } from './result-table.js'

/** Fills the table of intermediate results with every partition's (Volk §3.1). */
export class Speculative {
  readonly #kernel: Kernel

  private constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  static async create(device: Device, shape: TreeShape): Promise<Speculative> {
    const kernel = await device.kernel({
      module: 'index/partitions/speculative',
      entryPoint: 'speculate',
      bindings: ['read'],
      further: [[3, 'read'], [4, 'read'], [5, 'read'], [6, 'write'], ...furtherBindings(shape, 'tree')],
      params: 6,
      conditions: shape.conditions,
    })
    return new Speculative(kernel)
  }

  record(
    recorder: Recorder,
    arena: Arena,
    { count, levels, roots }: PartitionTable,
    { live, byLevel }: PartitionLists,
    { queries, word, first, length, results }: Piece,
  ): void {
    const tree = [arena.nodes.buffer, queries.keys, roots.buffer, byLevel, results]
    const buffers = [...tree, ...treeBuffers(arena, queries.heap)]
    const threads = length * live
    recorder.dispatch(this.#kernel, buffers, [threads, first, live, count, levels, word], threads)
  }
}
