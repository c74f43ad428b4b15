import type { Resolution } from '../../../protocol/traversal.js'
import type { Device } from '../../device/device.js'
import type { Kernel, NumberedBinding } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import { type Arena, treeBuffers } from '../arena.js'
import { furtherBindings, type TreeShape } from '../layout.js'
import type { Located } from './located.js'
import type { PartitionTable } from './partitions.js'
import type { KeyColumn } from './result-table.js'

const PARTITION_DIRECTORY = 20

/** Further bindings of kernels that find keys by directed traversal. */
export function directedBindings(shape: TreeShape): readonly NumberedBinding[] {
  return [...furtherBindings(shape, 'tree'), [PARTITION_DIRECTORY, 'read']]
}

/** The buffers of `directedBindings`. */
export function directedBuffers(arena: Arena, table: PartitionTable, heap: KeyColumn['heap']): GPUBuffer[] {
  return [...treeBuffers(arena, heap), table.directory]
}

/** The parameters of such kernels. */
export function directedParams(
  count: number,
  { levels, bands }: PartitionTable,
  resolution: Resolution,
  word: number,
): number[] {
  return [count, levels, bands, resolution === 'reversed' ? 1 : 0, word]
}

/** Finds keys by directed traversal. */
export class Directed {
  readonly #kernel: Kernel

  private constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  static async create(device: Device, shape: TreeShape): Promise<Directed> {
    const kernel = await device.kernel({
      module: 'index/partitions/directed',
      entryPoint: 'locate_directed',
      bindings: ['read', 'read'],
      further: [[3, 'read'], [4, 'write'], [5, 'write'], ...directedBindings(shape)],
      params: 5,
      conditions: { ...shape.conditions, full: shape.full },
    })
    return new Directed(kernel)
  }

  record(
    recorder: Recorder,
    arena: Arena,
    table: PartitionTable,
    queries: KeyColumn,
    word: number,
    count: number,
    resolution: Resolution,
    { places, residents }: Located,
  ): void {
    const tree = [arena.nodes.buffer, arena.tuples.buffer]
    const further = directedBuffers(arena, table, queries.heap)
    const buffers = [...tree, queries.keys, places, residents, ...further]
    recorder.dispatchGroups(this.#kernel, buffers, directedParams(count, table, resolution, word), count)
  }
}
