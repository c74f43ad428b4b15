import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import type { PartitionLists, PartitionTable } from './partitions.js'
import type { Piece } from './result-table.js'

/** Fills the table of intermediate results with every partition's (Volk §3.1). */
export class Speculative {
  readonly #kernels: Kernels<'speculate'>

  constructor(device: Device, { conditions }: TreeShape) {
    this.#kernels = device.kernels('index/partitions/speculative', ['speculate'], conditions)
  }

  record(
    recorder: Recorder,
    arena: Arena,
    { count, levels, roots }: PartitionTable,
    { live, byLevel }: PartitionLists,
    { queries, word, first, length, results }: Piece,
  ): void {
    const keys = { queries: queries.keys, queryHeap: queries.heap }
    const buffers = { ...arena.bindings, ...keys, roots: roots.buffer, byLevel, results }
    const threads = length * live
    const params = { threads, first, live, partitions: count, levels, shape: word }
    recorder.dispatch(this.#kernels.speculate, buffers, params, threads)
  }
}
