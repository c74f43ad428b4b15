import type { Resolution } from '../../../protocol/traversal.js'
import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import type { Located } from './located.js'
import type { PartitionTable } from './partitions.js'
import type { KeyColumn } from './result-table.js'

/** The parameters of kernels that find keys by directed traversal. */
export function directedParams(
  count: number,
  { levels, bands }: PartitionTable,
  resolution: Resolution,
  word: number,
): Readonly<Record<string, number>> {
  return { count, levels, bands, reversed: resolution === 'reversed' ? 1 : 0, shape: word }
}

/** Finds keys by directed traversal. */
export class Directed {
  readonly #kernels: Kernels<'locate_directed'>

  constructor(device: Device, { conditions, full }: TreeShape) {
    const module = 'index/partitions/directed'
    this.#kernels = device.kernels(module, ['locate_directed'], { ...conditions, full })
  }

  record(
    recorder: Recorder,
    arena: Arena,
    table: PartitionTable,
    queries: KeyColumn,
    word: number,
    count: number,
    resolution: Resolution,
    located: Located,
  ): void {
    const keys = { queries: queries.keys, queryHeap: queries.heap }
    const buffers = { ...arena.bindings, ...keys, ...located, partitionDirectory: table.directory }
    const params = directedParams(count, table, resolution, word)
    recorder.dispatchGroups(this.#kernels.locate_directed, buffers, params, count)
  }
}
